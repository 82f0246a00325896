"""Workers that were stopped while all else ran, which no clock of theirs tells from a long step."""

from collections.abc import Iterable

from benchtui.engine.process_tree import is_stopped


class Stops:
    """Looks at workers again and again, and keeps when each was found stopped."""

    def __init__(self, longest_s: float) -> None:
        """Between two looks further apart than this, not the worker alone stood still."""
        self._longest_s = longest_s
        self._since_s: dict[int, float] = {}
        """Session time of the last look that found a worker stopped, by its process."""
        self._spans: dict[int, list[tuple[float, float]]] = {}

    def look(self, at_s: float, pids: Iterable[int]) -> None:
        """Look at the workers that run, at this session time; called from the sampler's thread."""
        stopped = [pid for pid in pids if is_stopped(pid)]
        for pid in stopped:
            since_s = self._since_s.get(pid)
            if since_s is not None and at_s - since_s < self._longest_s:
                self._spans.setdefault(pid, []).append((since_s, at_s))
        self._since_s = dict.fromkeys(stopped, at_s)

    def stopped_s(self, pid: int, begin_s: float, end_s: float) -> float:
        """How long a worker was stopped within a span of session time."""
        spans = self._spans.get(pid, [])
        return sum(max(0.0, min(to_s, end_s) - max(from_s, begin_s)) for from_s, to_s in list(spans))

    def forget(self, pid: int) -> None:
        """Drop what is known of a worker that has ended."""
        self._spans.pop(pid, None)
