"""Names of sessions and cases in the sentences of a comparison."""

from collections.abc import Iterable, Sequence

from benchtui.sessions.compare.align import LETTERS, AlignedCase, ComparedSession, PairwiseComparison
from benchtui.sessions.text.formatting import listed
from benchtui.sessions.text.wording import MOST_NAMES


def lettered(sides: Sequence[ComparedSession]) -> list[tuple[str, ComparedSession]]:
    """Pair each session with its letter."""
    return list(zip(LETTERS, sides, strict=False))


def base_name(against: PairwiseComparison) -> str:
    """Name the base, such as ``A (main)``."""
    return f"{LETTERS[0]} ({against.base.name})"


def new_name(against: PairwiseComparison) -> str:
    """Name the new session, such as ``B (branch)``."""
    return f"{against.new_letter} ({against.new.name})"


def place(against: PairwiseComparison, row: AlignedCase) -> str:
    """Name a pair: by its batch size if nothing else varies, else by the name of the base's case."""
    series = {pair.case.config.family for pair in against.compared if not pair.case.config.label}
    return f"batch size {row.case.config.batch_size:,}" if len(series) == 1 else row.case.name


def several(names: Iterable[str]) -> str:
    """List a few names, and count the rest."""
    all_names = list(names)
    more = len(all_names) - MOST_NAMES
    return listed([*all_names[:MOST_NAMES], f"{more:,} more"] if more > 0 else all_names)
