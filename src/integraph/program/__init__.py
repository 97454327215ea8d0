"""Eq. (1) as an object: registers, blocks, segments, programs, their terms, their spec and their file.

A program does not know what gadgets mean or how engines work: both plug in by name.

Read `registers`, `views`, `block`, `segment`, `program`; the terms: `terms`, `bands`, `order`, `lowering`, `dynamics`;
`spec`; `annotations` and `box`; `storage` with `schema` and `document`; `engine` and `plugins`; `transform`, `summary`.
"""

from integraph.program.annotations import Budget, Domain, Probe
from integraph.program.block import Block, Op, operation, operations, register, tensor
from integraph.program.engine import Engine, Failure, Flow, Options, Status, plug
from integraph.program.origin import Origin
from integraph.program.program import Program, Trajectory, build
from integraph.program.registers import Group, Registers
from integraph.program.segment import Segment, segment
from integraph.program.storage import load
from integraph.program.terms import ONE, Controls, Terms
from integraph.program.views import Index, Ref, View

__all__ = [
    "ONE",
    "Block",
    "Budget",
    "Controls",
    "Domain",
    "Engine",
    "Failure",
    "Flow",
    "Group",
    "Index",
    "Op",
    "Options",
    "Origin",
    "Probe",
    "Program",
    "Ref",
    "Registers",
    "Segment",
    "Status",
    "Terms",
    "Trajectory",
    "View",
    "build",
    "load",
    "operation",
    "operations",
    "plug",
    "register",
    "segment",
    "tensor",
]
