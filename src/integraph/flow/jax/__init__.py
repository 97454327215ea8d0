"""Programs as functions of jax: pure, compiled, differentiable in the inputs and in the controls.

Nothing here is imported before somebody asks for jax.

Read `library` (jax behind the interpreter of closed forms), `function` (from a program to a function and its
parameters), `engine`, `taylor` (controls that have no closed form).
"""
