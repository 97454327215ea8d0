"""Enclosures of a program's outputs over a box of inputs, by closed forms on balls or by validated Taylor steps.

Read `closed_forms`, then `systems` and `taylor_step`.
"""
