"""Certified low and high of every register in every segment, over a box of inputs.

Read `slopes` and `pieces` (bounds between two times), then `model_flow` (all segments by polynomial models). The same
on balls are `gradients` with `derivatives` and `riccati`, `segment_flow` and `ball_flow`. `bisection` says which cells
to divide, and `register_ranges` has the result.
"""
