"""Programs as functions of jax: pure, compiled, differentiable in the inputs and in the controls.

Nothing here is imported before somebody asks for jax.

Read `library` (jax behind the interpreter of closed forms), `function` (from a program to a function and its
parameters), `engine`, `unit_flow` (blocks without a closed form), `taylor` (the controls of models in training).
"""
