"""The bounds of the paper as printed: Lemma 5, Lemma 4's partition of unity, Theorem 1 and Theorem 2.

Read `lemma5`, `theorem2`, `partition_of_unity`, `theorem1`.
"""
