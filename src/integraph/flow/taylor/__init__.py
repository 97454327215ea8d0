"""The Taylor engine: integrates eq. (1) from its terms alone, whatever the gadgets are.

Read `engine`, `components` (which registers move together), `plan`, `exponentials` and `quadratic_forms` (linear
parts), and `kernel` over `series` and `simd` (adaptive Taylor steps, with numba). One solution of many registers:
`wide`, `wide_series` (Taylor steps), `collocation` over `sparse_field` and `sparse_lu` (stiff).
"""
