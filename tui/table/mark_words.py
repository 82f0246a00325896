"""Marks (caveats) of cases in few words, for the case table and the header."""

from collections.abc import Collection, Iterable, Sequence

from benchtui.sessions.stats.disturbance import KINDS, mark_kind

WORDS = {
    "disturbed": "noisy",
    "clock": "low clock",
    "in parallel": "parallel",
    "random weights": "random",
    "synthetic tokens": "synthetic",
    "waits for the GPU": "waits",
    "gradient scaler skipped": "scaler",
    "loss not finite": "bad loss",
}
"""Short words of kinds whose own name is long or unclear."""
MOST_LETTERS = 11
"""Longest kind, in letters, that fits next to a sign in the state column."""


def mark_word(marks: Iterable[str], shared: Collection[str] = frozenset()) -> str | None:
    """Return one word for a case's most severe mark; ``ok`` if none is short enough, None without marks.

    Marks in ``shared``, which all cases have, count only if they report a disturbance.
    """
    kinds = [kind for mark in marks if (kind := mark_kind(mark)) in KINDS or mark not in shared]
    if not kinds:
        return None
    gravest = min(kinds, key=lambda kind: KINDS.index(kind) if kind in KINDS else len(KINDS))
    word = kind_word(gravest)
    return word if len(word) <= MOST_LETTERS else "ok"


def merge_by_kind(marks: Sequence[str]) -> tuple[str, ...]:
    """Merge the marks of one or several cases: each kind once, in full if all of its marks say the same."""
    texts: dict[str, set[str]] = {}
    for mark in marks:
        texts.setdefault(mark_kind(mark), set()).add(mark)
    return tuple(next(iter(same)) if len(same) == 1 else kind_word(kind) for kind, same in texts.items())


def kind_word(mark: str) -> str:
    """Return the short words for a mark, or for its kind."""
    kind = mark_kind(mark)
    return WORDS.get(kind, kind)
