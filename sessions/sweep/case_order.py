"""Case order: round by round, every second round reversed so that drift affects all cases alike."""

from collections.abc import Callable, Iterable, Sequence

RoundsDone = Callable[[int], int]
"""Number of finished rounds of a case."""


class Order:
    """Case numbers in the order of the even rounds."""

    def __init__(self, cases: Iterable[int] = (), further: Iterable[int] = ()) -> None:
        self._cases = list(cases)
        self._further = tuple(further)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Order) and (other._cases, other._further) == (self._cases, self._further)

    __hash__ = None  # type: ignore[assignment]

    @property
    def cases(self) -> Sequence[int]:
        """All case numbers in order. Adding a case extends this list; reordering replaces it."""
        return self._cases

    @property
    def further(self) -> Sequence[int]:
        """Cases whose further rounds were planned last, in start order."""
        return self._further

    def plan_further(self, cases: Iterable[int]) -> None:
        """Plan one further round of each of these cases, in this order, before all other rounds."""
        self._further = tuple(cases)

    def add(self, case: int, after: int | None = None) -> None:
        """Insert a case after another one, or append it; raises ValueError if ``after`` is unknown."""
        self._cases.insert(len(self._cases) if after is None else self._cases.index(after) + 1, case)

    def starting(self, waiting: Iterable[int], rounds_done: RoundsDone) -> list[int]:
        """Return the waiting cases in start order: those with the fewest finished rounds first."""
        place = {case: at for at, case in enumerate(self._cases)}
        further = {case: at for at, case in enumerate(self._further)}

        def turn(case: int) -> tuple[int, int]:
            if case in further:
                return -1, further[case]
            done = rounds_done(case)
            return done, -place[case] if done % 2 else place[case]

        return sorted(waiting, key=turn)

    def rearrange(self, cases: Sequence[int], rounds_done: RoundsDone) -> None:
        """Reorder the waiting cases within their rounds; ``cases`` must contain all of them."""
        in_order = dict.fromkeys(cases)
        self._further = tuple(case for case in in_order if case in self._further)
        moved = [case for case in in_order if case not in self._further]
        backward = [case for case in reversed(moved) if rounds_done(case) % 2]
        forward = [case for case in moved if rounds_done(case) % 2 == 0]
        named = set(moved)
        self._cases = [*backward, *(case for case in self._cases if case not in named), *forward]
