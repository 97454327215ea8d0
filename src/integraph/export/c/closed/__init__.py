"""C99: the closed forms of the ODE's segments as one function, without malloc and without a library but math.h.

Read `source` (the file), `steps` (which operations share a loop), `storage` (where arrays lie), `tables` (constants),
`elements` (how code names a number), `expressions` and `statements` (the code of an operation).
"""

from integraph.export.c.closed.source import write as write

__all__ = ["write"]
