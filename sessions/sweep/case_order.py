"""Case order: round by round, every second round reversed so that drift affects all cases alike."""

from collections.abc import Callable, Iterable, Sequence

RoundsDone = Callable[[int], int]
"""Number of finished rounds of a case."""


class Order:
    """Case numbers in the order of the even rounds."""

    def __init__(self, cases: Iterable[int] = ()) -> None:
        self._cases = list(cases)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Order) and other._cases == self._cases

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: object) -> "Order":
        return Order(self._cases)  # numbers need no copies

    @property
    def cases(self) -> Sequence[int]:
        """All case numbers in order. Adding a case extends this list; reordering replaces it."""
        return self._cases

    def add(self, case: int, after: int | None = None) -> None:
        """Insert a case after another one, or append it; raises ValueError if ``after`` is unknown."""
        self._cases.insert(len(self._cases) if after is None else self._cases.index(after) + 1, case)

    def starting(self, waiting: Iterable[int], rounds_done: RoundsDone) -> list[int]:
        """Return the waiting cases in start order: those with the fewest finished rounds first."""
        place = {case: at for at, case in enumerate(self._cases)}

        def turn(case: int) -> tuple[int, int]:
            done = rounds_done(case)
            return done, -place[case] if done % 2 else place[case]

        return sorted(waiting, key=turn)

    def rearrange(self, cases: Sequence[int], rounds_done: RoundsDone) -> None:
        """Reorder the waiting cases within their rounds; ``cases`` must contain all of them."""
        moved = list(dict.fromkeys(cases))
        backward = [case for case in reversed(moved) if rounds_done(case) % 2]
        forward = [case for case in moved if rounds_done(case) % 2 == 0]
        named = set(moved)
        self._cases = [*backward, *(case for case in self._cases if case not in named), *forward]
