"""C99 without a library: Taylor steps over tables of terms, closed forms, and the FMU that wraps the first.

Read `c99` with `taylor.c` and `entry.c`, `c_names`, `fmu` with `fmi2.c`; `closed` writes closed forms.
"""
