"""The newest words of the engine, and those of the screen itself; knows no Textual."""

from dataclasses import dataclass
from textwrap import wrap

from benchtui.sessions.events import Message
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import BLANK, Line, crop, line

ROLES = {"info": "muted", "warning": "warning", "error": "bad"}


@dataclass(frozen=True, slots=True)
class Log:
    """What stands at the bottom of the screen."""

    messages: tuple[Message, ...] = ()
    """The newest last."""
    word: str = ""
    """A question or an answer of the screen; it comes before what the engine says."""
    role: str = "plain"


def log_lines(log: Log, width: int, height: int, symbols: Symbols) -> list[Line]:
    """As many of the newest messages as fit, the newest at the bottom, and the screen's own word below them."""
    own = [line((part, log.role)) for part in wrap(log.word, max(width, 1), break_on_hyphens=False)[:height]]
    room = height - len(own)
    newest = log.messages[-room:] if room > 0 else ()
    said = [_said(message, width, symbols) for message in newest]
    return [BLANK] * (height - len(said) - len(own)) + said + own


def _said(message: Message, width: int, symbols: Symbols) -> Line:
    time, role = f"{message.t:>8.1f} s  ", ROLES[message.level]
    return crop([(time, "muted"), (clean(message.text), role)], width, symbols)
