"""Every escape sequence that the app and the commands may send to a terminal; anything else is a fault."""

import base64
import re
from dataclasses import dataclass, field

_MODES = "7|25|1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2048"
_SEQUENCES = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+|[\r\n\t])"
    r"|\x1b\[[0-9;]*m"  # colors and styles
    r"|\x1b\[\d+;\d+H"  # cursor position
    r"|\x1b\[(?:1A|2K|1G|H|2J)"  # the progress bar of `run`: one line up, erase it
    rf"|\x1b\[\?(?:{_MODES})[hl]"  # cursor, mouse, focus, screen, pasting, synchronized output
    r"|\x1b\[\?(?:2026|2048)\$p"  # whether the terminal knows a mode
    r"|\x1b\[[<>]\d*u"  # keys as kitty sends them
    r"|\x1b\[2[23];2t"  # save and restore the title
    r"|\x1b\]22;[a-z-]+\x07"  # shape of the mouse pointer
    r"|\x07"  # bell
    r"|\x1b\]2;(?P<title>[^\x00-\x1f\x7f-\x9f]*)\x07"
    r"|\x1b\]9;(?P<notification>[^\x00-\x1f\x7f-\x9f]*)\x07"
    r"|\x1b\]52;c;(?P<copied>[A-Za-z0-9+/]*=*)\x07"
)


@dataclass
class Sent:
    """What a program sent to a terminal."""

    text: str = ""
    titles: list[str] = field(default_factory=list)
    notifications: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)


def parse(data: bytes) -> Sent:
    """Split output into sequences; an unknown sequence, or text that isn't printable, is an AssertionError."""
    output, sent, at, texts = data.decode(), Sent(), 0, []
    while at < len(output):
        match = _SEQUENCES.match(output, at)
        assert match, f"unknown sequence: {output[at : at + 40]!r} after {output[max(0, at - 80) : at]!r}"
        at = match.end()
        texts.append(match["text"] or "")
        sent.titles += [match["title"]] if match["title"] is not None else []
        sent.notifications += [match["notification"]] if match["notification"] is not None else []
        sent.copied += [base64.b64decode(match["copied"]).decode()] if match["copied"] is not None else []
    sent.text = "".join(texts)
    for each in (sent.text, *sent.titles, *sent.notifications, *sent.copied):
        require_printable(each)
    return sent


def require_printable(text: str) -> None:
    """Fail on any character but line ends, tabs and printable ones."""
    odd = [
        letter for letter in text.replace("\r\n", "\n") if not letter.isprintable() and letter not in "\n\t\r"
    ]
    assert not odd, f"{odd[:5]!r} in {text[:200]!r}"
