"""Proofs: how far the exact flow of the stored controls can be from what it was compiled from.

A `Problem` bounds one difference on a box and at a point; the search bisects the box until the bound is good enough; a
certificate records the result, and the replay checks it without the search. Nothing here trusts a float computation or
an engine: floats only say where to look.

Read `problem`, `statement`, `proof`, `search`, `certificate`; then the three problems `network`, `theorem1` and
`formula` over `controls`, `readout` and `taylor`; `enclosure`, which needs no target; and `bounds`, which needs no
program. `loops` and `solutions` follow dynamical systems.
"""
