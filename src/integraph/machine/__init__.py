"""What a person with an analog or fixed-point machine asks: units in which every register fits, and how far the outputs
move if the machine is not exact.

Read `scaling`, then `sensitivity` and `tolerance`.
"""

from integraph.certify.ranges.register_ranges import register_ranges
from integraph.machine.scaling import scaled
from integraph.machine.tolerance import tolerance

__all__ = ["register_ranges", "scaled", "tolerance"]
