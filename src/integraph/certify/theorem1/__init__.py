"""The difference of a formula and its program by Theorem 1, bounded on a box, from the stored controls.

Read `cells` and `bumps` (what a program computes), `entry`, `lean_form` with `exponents`, `printed_form` with
`register_contents` and `lemma4_step2` (how it is read off the controls), `polynomial_ranges`, and `difference`.
"""
