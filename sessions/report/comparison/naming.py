"""Names of sessions and cases in the sentences of a comparison."""

from collections.abc import Iterable, Sequence

from benchtui.sessions.compare.align import LETTERS, AlignedCase, ComparedSession, PairwiseComparison
from benchtui.sessions.report.compare_columns import varying_options
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.text.formatting import listed
from benchtui.sessions.text.labels import case_label
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


def label(against: PairwiseComparison, case: CaseState) -> str:
    """Name a case by the options that vary in either session."""
    return case_label(case.config, varying_options(against))


def place(against: PairwiseComparison, row: AlignedCase) -> str:
    """Name a pair: by its batch size if nothing else varies, else by the label of the base's case."""
    if varying_options(against) or row.case.config.label or _devices(against) > 1:
        return label(against, row.case)
    return f"batch size {row.case.config.batch_size:,}"


def several(names: Iterable[str]) -> str:
    """List a few names, and count the rest."""
    all_names = list(names)
    more = len(all_names) - MOST_NAMES
    return listed([*all_names[:MOST_NAMES], f"{more:,} more"] if more > 0 else all_names)


def _devices(against: PairwiseComparison) -> int:
    """Count the combinations of device and precision among the base's cases that have a counterpart."""
    return len({(row.case.config.device, row.case.config.precision) for row in against.compared})
