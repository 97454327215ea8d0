"""What a user can catch.

    IntegraphError
    ├── SpecError        a program breaks a rule of eq. (1): shapes, writers, frozen operands, finite controls
    ├── UsageError       an argument of a call is not what the call takes
    ├── SourceError      what was to be compiled cannot be: an unknown activation, shapes that do not fit, NaN weights
    ├── FileError        a file is not one we can trust: truncated, hostile, altered, too large, too new
    └── FlowError        some inputs could not be carried to the end of the flow
        ├── EscapeError      the true solution leaves every bound (ln at 0, power of a negative …)
        ├── OverflowedError  the true solution is finite but larger than float64 holds
        ├── StepLimitError   the integrator gave up
        └── PrecisionError   more digits than an engine takes would be needed

Every message names the cause, the value and the fix; `argument` names what is wrong in the call, if that is one thing.
"""

from integraph.text import clean

LONGEST = 3000  # characters of a line
SHOWN = 300  # of a value
UNSAID = object()  # instead of a value, which may be None


class IntegraphError(Exception):
    """Anything Integraph says on purpose. A message may quote what others wrote, so each of its lines is cleaned.

    `argument` is the name of the argument that is wrong or missing, where there is one.
    """

    def __init__(self, *lines: str, argument: str = "") -> None:
        super().__init__(*(clean(str(line), LONGEST) for line in lines))
        self.argument = argument

    def __str__(self) -> str:
        return "\n".join(self.args)


class SpecError(IntegraphError, ValueError):
    """A program breaks a rule of eq. (1)."""


class UsageError(IntegraphError, ValueError):
    """An argument of a call is not what the call takes. Where its value is given, the message begins with both."""

    def __init__(self, *lines: str, argument: str = "", value: object = UNSAID) -> None:
        super().__init__(*lines, argument=argument)
        said = repr(value) if isinstance(value, str) else str(value)
        self.value = None if value is UNSAID else clean(said, SHOWN)

    def __str__(self) -> str:
        said = super().__str__()
        return said if self.value is None else f"{self.argument} = {self.value}: {said}"


class SourceError(IntegraphError, ValueError):
    """What was to be compiled is not something we can compile."""


class FileError(IntegraphError, ValueError):
    """A file is not one we can trust."""


class FlowError(IntegraphError, ArithmeticError):
    """Some inputs could not be carried to the end of the flow; `indices` says which."""

    def __init__(self, message: str, indices: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.indices = indices


class EscapeError(FlowError):
    """The true solution leaves every bound before the end."""


class OverflowedError(FlowError):
    """The solution is larger than float64 holds."""


class PrecisionError(FlowError):
    """A result that more and more bits do not decide."""


class StepLimitError(FlowError):
    """The integrator used up its steps."""
