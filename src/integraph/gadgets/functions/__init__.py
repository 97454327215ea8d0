"""The functions that closed forms are written in, for arrays of floats and of balls.

A closed form takes a namespace of functions and works for both.

Read `namespace` (the list, and floats), `elementary`, `gauss` and `normaliser` (floats without overflow or
cancellation), and `arb` with `arb_gauss` and `arb_normaliser`.
"""
