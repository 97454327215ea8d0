"""The exact engine: closed forms of the gadgets, in float64, many inputs at once.

It knows gadgets and their closed forms, not what a program was compiled from. Modules that need numba are imported when
the first block asks for them.

Read `engine`, `plan` and `chunk_size`, `binding` (from a block to a step), then the steps: `affine_steps`,
`multiples` and `window_steps` (several affine blocks as one), `product_steps` and `linear_steps` over `linear_kernels`;
`riccati_flow`, `gauss_flow`, `growth_flow` and `softmax_flow` over `exponential`. Small programs run as tapes: `trace`
(from a plan to a tape), `tape` and `tape_functions` (closed forms on symbols), `schedule`, then `rows` over
`arithmetic_kernel` for many inputs and `scalars` for one.
"""
