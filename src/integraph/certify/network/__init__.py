"""The difference of a network and its program by Theorem 2, bounded on a box by balls, from the stored controls.

Read `form` and `roles` (what is stored), `linear_maps`, `activation_rules` and `rectifiers`, `difference`, and
`slopes`, which makes it tighter.
"""
