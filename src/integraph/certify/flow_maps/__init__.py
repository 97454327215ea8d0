"""The difference of a dynamical system and the program of its lifted form.

The lifted flow is exact, so the difference has three causes: rounded controls, new variables computed by gadgets, and
registers that are cleared by decay. Its own differential equations are integrated beside those of the system.

Read `error_equations`, `tangents` (errors through formulas), `stages` (what a program does), `difference`.
"""
