"""Theorem 2: a feedforward network as a program, exactly or within ε.

Read `construction`, `network_plan` (layers on a box), `narrow` (the paper's three banks of registers), `wide` (two
segments a layer) and `budget` (the error, layer by layer).
"""
