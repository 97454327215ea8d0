"""The ODE in other people's tools: one file of text or bytes that states, or runs, eq. (1).

A face: it may know programs, gadgets and engines, and nothing knows it but `Program.export` and the command. A format
is one module with one function `write(program, name, **options)` and a line in the table of `formats`.

Read `exporter` (from a program to a file), `formats` (the table), `equations` (what a writer of equations needs),
`notation` (how a language writes a sum of products), `header` (what every file says of itself), then any format:
`solvers/heyoka` is a short one. `onnx` and `c/closed` write what the layer of engines traces, closed forms;
`amplitude` says how large registers become. The other rooms: `c`, `biology`, `circuits`, `reach`, `documents`.
"""

from integraph.export.exporter import export as export

__all__ = ["export"]
