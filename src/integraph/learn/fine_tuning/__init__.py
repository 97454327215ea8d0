"""Fine-tuning: the controls of a compiled net trained on rows, with its registers, segments and terms as they are.

Read `tied` (from the net's weights to the tensors of the blocks), `training` (the loop) and `fine_tune`.
"""
