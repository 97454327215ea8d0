"""The vector field of trajectories: x' = Θ·φ(x, g(x), u), quadratic in states, given functions of them, and inputs.

Read `trajectories` (the data), `features` (φ and its slopes; `tangents` differentiates the given functions),
`weak_form` (a linear estimate to start from), `shooting` (the fit of the flow: Gauss–Newton on the states at all
sampling times), `selection` (which terms are needed), `estimation`, which joins them, and `identify`, the face.
"""
