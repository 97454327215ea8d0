"""Ranges of networks, formulas and graphs over a box: rigorous bounds of every output, and points that come close.

Polynomial models of all outputs are computed on a batch of cells, and cells are bisected, those first that are the
widest.

Read `network_models`, `sparse_maps`, `linear_nodes`, `graph_models`, `cells`, `point_values`, `bounds`, `search`.
"""
