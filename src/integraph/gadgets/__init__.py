"""The instruction set: one small file for each elementary flow. Call a gadget to make a block.

A gadget knows its equations, its closed form from any start, where it is defined, and how to describe itself; it does
not know who uses it.

Read `gadget` and `functions`, then one gadget, such as `tanh` (Lemma 1), `ln` (Lemma 2) or `monomial` (Lemma 3);
`contraction` is what gadgets that sum over registers share; `raw` and `low_rank` are free-form blocks.
"""

from integraph.gadgets.affine import affine
from integraph.gadgets.arctan import arctan
from integraph.gadgets.asinh import asinh
from integraph.gadgets.bilinear import bilinear
from integraph.gadgets.decay import decay
from integraph.gadgets.drain import drain
from integraph.gadgets.erf import erf
from integraph.gadgets.exp import exp
from integraph.gadgets.expm1 import expm1
from integraph.gadgets.gadget import Closed, Elementwise, Gadget
from integraph.gadgets.gaussian import gaussian
from integraph.gadgets.gelu import gelu
from integraph.gadgets.leaky_relu import leaky_relu
from integraph.gadgets.ln import ln
from integraph.gadgets.log_cosh import log_cosh
from integraph.gadgets.log_softmax import log_softmax
from integraph.gadgets.log_sum_exp import log_sum_exp
from integraph.gadgets.low_rank import low_rank
from integraph.gadgets.monomial import monomial
from integraph.gadgets.partition import partition
from integraph.gadgets.power import power
from integraph.gadgets.power_spiral import power_spiral
from integraph.gadgets.powers import powers
from integraph.gadgets.product import product
from integraph.gadgets.ramp import ramp
from integraph.gadgets.raw import raw
from integraph.gadgets.relax import relax
from integraph.gadgets.relu import relu
from integraph.gadgets.sigmoid import sigmoid
from integraph.gadgets.silu import silu
from integraph.gadgets.sin_cos import sin_cos
from integraph.gadgets.sinh_cosh import sinh_cosh
from integraph.gadgets.softmax import shifted_softmax, softmax
from integraph.gadgets.softplus import softplus
from integraph.gadgets.spiral import spiral
from integraph.gadgets.tanh import tanh
from integraph.gadgets.variable_power import variable_power

__all__ = [
    "Closed",
    "Elementwise",
    "Gadget",
    "affine",
    "arctan",
    "asinh",
    "bilinear",
    "decay",
    "drain",
    "erf",
    "exp",
    "expm1",
    "gaussian",
    "gelu",
    "leaky_relu",
    "ln",
    "log_cosh",
    "log_softmax",
    "log_sum_exp",
    "low_rank",
    "monomial",
    "partition",
    "power",
    "power_spiral",
    "powers",
    "product",
    "ramp",
    "raw",
    "relax",
    "relu",
    "shifted_softmax",
    "sigmoid",
    "silu",
    "sin_cos",
    "sinh_cosh",
    "softmax",
    "softplus",
    "spiral",
    "tanh",
    "variable_power",
]
