"""Certificates: a proof as data, stored in a file and checked without the search.

The check imports nothing of `certify/search`.

Read `tree`, `exact_values`, `sealed_document`, `certificate`, `validity`, `replay`.
"""
