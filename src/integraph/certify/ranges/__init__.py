"""Certified low and high of every register in every segment, over a box of inputs.

Read `slopes`, then `gradients` with `derivatives` and `riccati`, `segment_flow` (one segment, many cells of the box),
`bisection` (which cells to divide) and `register_ranges`, the result.
"""
