"""Proofs: how far the exact flow of the stored controls can be from what it was compiled from.

Balls (`arbs`, `ranges`) carry everything; a `Problem` bounds one difference on a box and at a point; `search` divides
the box until the bound is good enough; a certificate writes down what the search found, and `replay` checks it without
the search. Nothing here trusts a float computation: floats only say where to look.
"""
