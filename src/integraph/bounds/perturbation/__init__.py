"""How far a flow ends from where it should when its registers start slightly off, gadget by gadget.

Read `deviation` (a vector of registers), `activation_errors` (networks), `case` (one gadget of a graph), then
`elementary_functions`, `power_products` and `softmax_rows`, and `gadget_ends`, the table of them all.
"""
