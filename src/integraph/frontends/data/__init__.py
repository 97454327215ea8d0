"""Rows of numbers → functions: CSV files, frames of pandas and polars, pairs (X, y) of arrays.

Read `columns` (which of them are inputs, which rows have gaps), `csv_file` with `cells` (text that should be numbers),
and `frames` (objects in memory). Neither pandas nor polars is imported.
"""

from integraph.frontends.data.frames import is_data, read

__all__ = ["is_data", "read"]
