"""A comparison of two sessions in Python: the verdict on each case as a pandas table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.api.session import Session, load

if TYPE_CHECKING:
    from pandas import DataFrame

    from benchtui.sessions.compare.align import SessionComparison


class Comparison:
    """Two sessions compared case by case, returned by ``benchtui.compare``."""

    __slots__ = ("_compared",)

    def __init__(self, compared: SessionComparison) -> None:
        """Create the comparison; ``benchtui.compare`` does that."""
        self._compared = compared

    def cases(self) -> DataFrame:
        """Return a table with one row per case of either session, indexed by the case's name.

        ``ratio`` is the speed of the new session relative to the base: above 1, it is faster. ``ratio_low`` and
        ``ratio_high`` are its 95% interval. ``verdict`` is FASTER, SLOWER, SAME or UNSURE; missing if the case
        wasn't measured in both. ``resolution_percent`` is the smallest detectable difference.
        """
        from benchtui.tui.api.frames import comparison_frame  # imports pandas

        return comparison_frame(self._compared.against[0])

    def differences(self) -> DataFrame:
        """Return what differs between the machines, the software and the settings, indexed by its name."""
        from benchtui.tui.api.frames import difference_frame  # imports pandas

        return difference_frame(self._compared)

    def __repr__(self) -> str:
        """Return both names and the number of cases by verdict in one line."""
        from benchtui.tui.api.display import comparison_text

        return f"<benchtui.Comparison {comparison_text(self._compared)}>"

    def _repr_html_(self) -> str:
        from benchtui.tui.api.display import comparison_html

        return comparison_html(self._compared)


def compare(base: Session | str | Path, new: Session | str | Path) -> Comparison:
    """Compare two sessions case by case. Each is a ``Session``, a file or a name in the library.

    Raises BenchtuiError if a session can't be read, both are the same file, or no case was measured in both.
    """
    from benchtui.sessions.compare import align

    paths = [(session if isinstance(session, Session) else load(session)).path for session in (base, new)]
    if paths[0].resolve() == paths[1].resolve():
        raise BenchtuiError(f"{paths[0]}: a session can't be compared with itself")
    compared = align.compare_sessions(align.load_sessions(paths))
    if not compared.comparable:
        raise BenchtuiError(align.nothing_in_common(compared.against[0]))
    return Comparison(compared)
