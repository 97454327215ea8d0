"""Why a search ended, and a proof with it."""

from __future__ import annotations

from enum import Enum


class Stop(Enum):
    """The value is a word for other programs, `message` a sentence for people."""

    message: str

    GOAL = "goal", "every bound is as small as was asked for"
    GAP = "gap", "every bound is as close as was asked for to a difference that is there"
    REFUTED = "refuted", "a difference is larger than was asked for"
    ONE_BOX = "one box", "the box was bounded as a whole, as nothing else was asked for"
    BOXES = "boxes", "the budget of boxes is exhausted"
    SECONDS = "seconds", "the budget of time is exhausted"
    INTERRUPTED = "interrupted", "it was interrupted"
    STUCK = "stuck", "the boxes cannot be divided further"
    SIDES = "sides", "the box has too many sides: halving them lowers the bound too slowly for the budget"
    MISMATCH = "mismatch", "the program is not seen to be one of the source, and would not be on a smaller box"
    REFUSED = "refused", "there is no proof of such a program and source"
    CONTRADICTION = "contradiction", "the bounds contradict each other: a defect, please report it"

    def __new__(cls, word: str, message: str) -> Stop:
        member = object.__new__(cls)
        member._value_, member.message = word, message
        return member

    @property
    def early(self) -> bool:
        """Whether the search ended before what was asked for was settled."""
        return self in (Stop.BOXES, Stop.SECONDS, Stop.INTERRUPTED, Stop.STUCK, Stop.SIDES, Stop.MISMATCH)
