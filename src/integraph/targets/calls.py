"""How often a function that can only be called is called: counted, limited, shown to whoever waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.progress import late_bar

Values = Callable[[Floats], Floats]


class CallMeter:
    """The number of points at which a function was evaluated. A batch of B points counts as B calls."""

    def __init__(self, name: str) -> None:
        self.name, self.calls = name, 0
        self.trial = 0  # calls that found out how to call it
        self._before = 0  # calls before those that are limited
        self.limit: int | None = None
        self._show: Callable[[float, str], None] | None = None

    @property
    def spent(self) -> int:
        """Calls that count against the limit: since there is one, and those of the trial."""
        return self.calls - self._before

    def spend(self, calls: int) -> None:
        """Count them before they are made; a UsageError if there are not so many left."""
        if self.limit is not None and self.spent + calls > self.limit:
            raise UsageError(
                f"{self.name} was called at {self.spent} points, and {calls} more are needed now: allow more, or ask "
                "for a larger eps",
                argument="max_calls",
                value=self.limit,
            )
        self.calls += calls
        if self._show is not None:
            share = 0.0 if self.limit is None else self.spent / self.limit
            self._show(share, f"calling {self.name}: {self.spent:,} points")

    def counting(self, values: Values) -> Values:
        """The same function, counted."""

        def counted(x: Floats) -> Floats:
            self.spend(len(x))
            return values(x)

        return counted

    @contextmanager
    def limited(self, limit: int | None) -> Iterator[None]:
        """Inside, at most so many calls, if there is a limit; and a bar. What a function was called for before, but for
        the trial, does not count."""
        before, self._before = self.limit, self.calls - self.trial
        with late_bar(True, f"calling {self.name}") as self._show:
            self.limit = limit
            try:
                yield
            finally:
                self.limit, self._show = before, None
