"""The ODE in other people's tools: one file of text or bytes that states, or runs, eq. (1).

A face: it may know programs, gadgets and engines, and nothing knows it but `Program.export` and the command. A format
is one module with one function `write(program, name, **options)` and a line in the table of `formats`.

Read `exporter` (from a program to a file), `formats` (the table), `equations` (what a writer of equations needs),
`notation` (how a language writes a sum of products), `header` (what every file says of itself), then any format:
`heyoka` is a short one. The code of C files, FMUs and pages stands in the folder templates: `c99`, `fmu`, `page`.
Behind the SBML files are `sbml_document`, `reactions` (registers as pairs of species) and `annihilation` (its rate);
behind the analog circuits `analog_circuit` and `multipliers`; `sample` says how large registers become.
`closed_forms` is what `onnx_graph` (over `onnx_nodes`) and `c_closed` write.
"""

from integraph.export.exporter import export as export

__all__ = ["export"]
