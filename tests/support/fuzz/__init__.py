"""The machine that looks for wrong values: random sources, compiled, against what knows better.

A *kind* (`kind.py`) draws random cases of one sort of source, checks them against an oracle, makes them smaller and
shows them. `judge.py` is what the checks share, `shrink.py` finds the smallest case that still fails, and
`__main__.py` is the command: `python -m fuzz --seconds 60 --seed 1 --kinds onnx,formula`, or `make fuzz`.
"""
