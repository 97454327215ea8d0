"""From targets to programs: Theorem 1 (functions and data), Theorem 2 (networks) and graphs of operations.

A construction chooses registers, segments and controls, and bounds its error. It knows gadgets and bounds; it does not
evaluate, so it never imports an engine.

Read `recipes` (activations as flows) and `theorem2`, then `decay_rate`, `graph`, `surrogate`, `theorem1` and `data`;
then `lifting`, from dynamical systems to quadratic ones.
"""
