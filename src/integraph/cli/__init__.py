"""The `integraph` command.

A subcommand is a function that returns an `Answer`: the same facts as data, which `--json` prints, and as text.
Nothing is imported before it is needed, so that help appears at once.

Read `start` and `app`, then `output`, which all subcommands share, `options` and `inputs`, and one of `commands`.
`paths`, `points` and `csv_table` are for files; `facts`, `spot_value`, `sparkline`, `terminal`, `timing` for the
screen.
"""
