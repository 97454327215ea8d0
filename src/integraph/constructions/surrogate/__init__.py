"""A polynomial in place of a function that can only be called, from as few calls as possible.

Theorem 1 needs values of f at thousands of places; a call may take seconds. So f is called at nested Chebyshev points,
more of them until the polynomial through its values agrees with f where it was not fitted.

Read `chebyshev` (the polynomials), `sampling` (where f is called), `surrogate` (when that is enough, and the result),
and what is said where no polynomial is good enough: `noise` and `singularity`, put together in `diagnosis`.
"""
