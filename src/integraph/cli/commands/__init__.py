"""The subcommands, one file each; every file registers its own with `output.command`.

Read `compile`, `evaluate` and `certify`; `bench`, `compare`, `info`, `paper`, `plan`, `report` and `trace` are alike.
"""
