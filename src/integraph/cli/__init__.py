"""The `integraph` command: one file for each of its subcommands, `output` for what they share.

A subcommand is a function that returns an `Answer`: the same facts as data, which `--json` prints, and as text.
Nothing is imported before it is needed, so that help is there at once.
"""
