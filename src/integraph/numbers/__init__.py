"""Arithmetic that proofs and bounds share: float64 with its rounding errors, intervals, balls and Taylor series.

Every operation rounds outward, so that a result contains all values in real arithmetic. Nothing here knows programs,
gadgets or formulas: below this layer are only errors, texts and the clock, which may end a long computation.

Read `arrays`, `roundoff`, `balls` with `ball_functions`, `intervals`, `spectral_norm`, `multi_index`,
`low_discrepancy`, `power_series` with `series_functions`, then `models`, polynomials with shared errors, over `jit`,
and then `arb`, balls in as many bits as needed.
"""
