"""Functions that Python can call → functions on a box: called, tried, and compared with the derivatives that are given.

Read `callables` (how many inputs, under which names), `pointwise` (calls with a batch, or point by
point), `derivatives`, then what needs no calling: `polynomials` of numpy and `table`, derivatives on a grid. Nothing
here is traced; that is `frontends.jax`.
"""
