"""The order in which cases start: round by round, every second one backward, so that drift hits all alike."""

from collections.abc import Callable, Iterable, Sequence

RoundsDone = Callable[[int], int]
"""How many rounds of a case are over."""


class Order:
    """Cases by their numbers, in the order of the even rounds."""

    def __init__(self, cases: Iterable[int] = ()) -> None:
        self._cases = list(cases)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Order) and other._cases == self._cases

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: object) -> "Order":
        return Order(self._cases)  # numbers need no copies

    @property
    def cases(self) -> Sequence[int]:
        """All cases; another object once the order has changed."""
        return self._cases

    def add(self, case: int, after: int | None = None) -> None:
        """Put a new case behind another one, or at the end; raises ValueError for one that isn't there."""
        self._cases.insert(len(self._cases) if after is None else self._cases.index(after) + 1, case)

    def starting(self, waiting: Iterable[int], rounds_done: RoundsDone) -> list[int]:
        """The waiting cases as they start: those with the fewest rounds behind them first."""
        place = {case: at for at, case in enumerate(self._cases)}

        def turn(case: int) -> tuple[int, int]:
            done = rounds_done(case)
            return done, -place[case] if done % 2 else place[case]

        return sorted(waiting, key=turn)

    def rearrange(self, cases: Sequence[int], rounds_done: RoundsDone) -> None:
        """Let the waiting cases, all of them given, start in this order within their rounds."""
        moved = list(dict.fromkeys(cases))
        backward = [case for case in reversed(moved) if rounds_done(case) % 2]
        forward = [case for case in moved if rounds_done(case) % 2 == 0]
        named = set(moved)
        self._cases = [*backward, *(case for case in self._cases if case not in named), *forward]
