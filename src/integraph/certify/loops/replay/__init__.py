"""The checker of closed loops: every step of a certificate again, in Arb.

It shares formulas, networks and number types with the search, and no other code. The certificate says how long each
step is, its order, and a box that no solution leaves; all else is computed here.

Read `polynomials`, `products`, `rows`, `functions`, `intervals`, `series`, `formulas`; `layers`, `activations` and
`networks`; `graphs`, `programs`, `controller`; `sets`, `disturbance`, `steps`, `verdict`, `check`.
"""
