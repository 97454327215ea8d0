"""The range of every value of a graph over a box, in intervals.

Read `propagation` (the loop over the nodes), `interval_functions`, `affine_forms` and `patterns`, which see how values
depend on each other, and `deviations`, which sees rows of layer norms as vectors.
"""
