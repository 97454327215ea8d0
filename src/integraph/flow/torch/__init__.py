"""Programs as modules of PyTorch: the interpreter of closed forms, over torch. Read `library`, then `module`."""
