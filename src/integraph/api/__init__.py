"""What `integraph.*` is: a function for each thing that people do with a source or a program.

These functions read a source (`frontends.read`), check what was asked for, and call one construction, proof or engine;
they compute nothing themselves. They may import every layer, but not `report`, `plot` and `cli` beside them.

Read `compiler`, `graphs` and `planning`, which make programs and plans, `lifting`, then `origin`, `comparison` and
`certificates`, which hold a program against its source.
"""
