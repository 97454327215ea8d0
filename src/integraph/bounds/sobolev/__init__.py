"""Bounds of all derivatives of a formula up to an order, over a box: the norm of W^{n,∞} that Theorem 1 needs.

Read `taylor_series`, `supremum` (branch and bound), `norm`, and `singularities`, which says why there is no bound.
"""
