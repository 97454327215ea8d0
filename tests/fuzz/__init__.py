"""The machine that looks for wrong values: random sources, compiled, against what knows better.

A *kind* (`kind.py`) draws random cases of one sort of source, checks a case against an oracle, makes it smaller and shows
it. `judge.py` is what the checks share, `shrink.py` finds the smallest case that still fails, and `__main__.py` is the
command: `python -m fuzz --seconds 60 --seed 1 --kinds onnx,formula`, or `make fuzz`.
"""
