"""Preview of a session in the Library: the answer that the Monitor shows at its end."""

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from benchtui.sessions.advice.conclusion import conclude_anyway
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library.summaries import SummarizedSession
from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import Symbols
from benchtui.tui.model.answer import AnswerText, ending_of
from benchtui.tui.panels.answer_card import Answer
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.case_names import CaseNames


def preview(path: Path, symbols: Symbols, wanted: Callable[[], bool]) -> Answer | None:
    """Read a session and return its answer, with the keys of the Library; None if it can't be read."""
    try:
        session = SummarizedSession.load(path, wanted=wanted)
    except BenchtuiError:
        return None
    names = CaseNames.of([case.config for case in session.cases])
    text = AnswerText(session, names, symbols, shell_word(path.stem))
    answer = text.answer(ending_of(session, session.cut_off), conclude_anyway(session))
    return replace(answer, keys=tuple(_keys(session, answer)))


def _keys(session: Session, answer: Answer) -> Iterator[str]:
    if session.left:
        yield f"{key('library.resume')} continue"
    if not answer.works:
        yield f"{key('library.edit')} change and run again"
