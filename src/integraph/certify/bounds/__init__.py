"""Ranges of networks, formulas, graphs and programs over a box: rigorous bounds of every output, and points that come
close.

Polynomial models of all outputs are computed on a batch of cells, and cells are bisected, those first that are the
widest. With many inputs linear bounds go backwards through the same operations, and both are intersected.

Read `network_models`, `sparse_maps`, `linear_nodes`, `graph_parts`, `graph_models`, `program_models` (with
`gadget_models`, `score_models` and `linear_segments` on `model_arrays` and `model_functions`), `forms`, `steps`,
`network_steps`, `graph_steps`, `backward`, `climb`, `cells`, `point_values`, `bounds`, `state`, `search`.
"""
