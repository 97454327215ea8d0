"""Error bounds as formulas over arrays: those of the paper, and tighter ones.

A bound knows numbers and targets, never programs, gadgets or engines.

Read `paper` (Lemma 5, Theorems 1 and 2 as printed), `interpolation_nodes` and `moments` (the tight bound of Theorem 1),
`perturbation` (flows that start slightly off), `ranges` (values of a graph over a box), `sobolev` (derivatives over
a box), and `conditions` (which branch a formula takes on a box).
"""
