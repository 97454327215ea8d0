"""Branch and bound over boxes, on one processor, on many, or on a cluster. It knows problems, not programs.

Read `branch_and_bound`, `search_tree`, `bisection` (one step), `sampling` (large values at points), `work`,
`pool`, `cluster`.
"""
