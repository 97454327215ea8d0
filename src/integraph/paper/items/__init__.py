"""The rows of the reproduction: a function for each item of the paper and for each erratum.

Read `model`, `lemmas`, `lemma4`, `theorem1`, `theorem2`, `errata`, `errata_theorem2`.
"""
