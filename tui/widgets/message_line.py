"""Message log: the engine's newest messages and the screen's own, independent of Textual."""

from textwrap import wrap

import msgspec

from benchtui.sessions.events import Message
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import BLANK, Line, crop

ROLES = {"info": "muted", "warning": "warning", "error": "bad"}


class Log(msgspec.Struct, frozen=True):
    """Content of the message log."""

    messages: tuple[Message, ...] = ()
    """Messages of the engine, newest last."""
    word: str = ""
    """Question or answer of the screen; it takes precedence over the engine's messages."""
    role: str = "plain"
    error: str = ""
    """Line below ``word``, such as why the text of a prompt is refused."""


def log_lines(log: Log, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the newest messages that fit, newest last, with the screen's own below them."""
    own = [
        crop([(part, log.role)], width, symbols) for part in _wrapped(log.word, width, height - bool(log.error))
    ]
    if log.error:
        own.append(crop([(log.error, "warning")], width, symbols))
    room = height - len(own)
    newest = log.messages[-room:] if room > 0 else ()
    rendered = [_message_line(message, width, symbols) for message in newest]
    return [BLANK] * (height - len(rendered) - len(own)) + rendered + own


def _wrapped(text: str, width: int, height: int) -> list[str]:
    """Wrap a text. If it has too many lines, the last one has the rest, however long."""
    parts = wrap(text, max(width, 1), break_on_hyphens=False)
    return parts if len(parts) <= height else [*parts[: height - 1], " ".join(parts[height - 1 :])][:height]


def _message_line(message: Message, width: int, symbols: Symbols) -> Line:
    time, role = f"{message.t:>8.1f} s  ", ROLES[message.level]
    return crop([(time, "muted"), (clean(message.text), role)], width, symbols)
