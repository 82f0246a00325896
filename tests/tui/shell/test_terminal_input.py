"""What a terminal may send: no bytes are an error, and damaged ones press no keys."""

import random
from collections.abc import Iterable
from typing import Any

import pytest
from textual import events
from textual.message import Message

from benchtui.tui.shell.terminal import InputDecoder, TerminalInput

REPORTS = {
    "X10": b"\x1b[M\x20\x60\x30",
    "X10, right of column 95": b"\x1b[M\x20\xe0\x30",
    "X10, below row 95": b"\x1b[M\x20\x30\xe0",
    "X10, both, as a character of UTF-8": b"\x1b[M\x20\xc3\xa0",
    "X10, last column": b"\x1b[M\x20\xff\xff",
    "X10, wheel": b"\x1b[M\x60\xf0\x21",
    "UTF-8": b"\x1b[M\x20\xc3\xa0\xc2\x90",
    "urxvt": b"\x1b[32;200;30M",
}


def messages(*reads: bytes) -> list[Message]:
    source = TerminalInput()
    return [message for data in reads for message in source.read(data)]


def keys(sent: Iterable[Message]) -> list[str]:
    return [message.key for message in sent if isinstance(message, events.Key)]


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_old_mouse_reports_are_ignored_wherever_a_read_ends(report: bytes) -> None:
    for cut in range(len(report) + 1):
        assert keys(messages(b"a" + report[:cut], report[cut:], b"\x1b[A", b"b")) == ["a", "up", "b"], cut


def test_report_whose_column_alone_takes_two_bytes_is_ignored() -> None:
    assert keys(messages(b"\x1b[M\x20\xdf\xbf\x21b")) == ["b"]


def test_bursts_of_old_mouse_reports_press_no_key() -> None:
    dragged = b"".join(b"\x1b[M%c%c%c" % (64, 33 + column, 40) for column in range(223))
    assert messages(dragged) == []


def test_mouse_reports_that_were_requested_arrive() -> None:
    pressed, turned = messages(b"\x1b[<0;151;12M\x1b[<65;3;4M")
    assert isinstance(pressed, events.MouseDown) and (pressed.x, pressed.y) == (150, 11)
    assert isinstance(turned, events.MouseScrollDown)


def test_positions_stay_in_cells_after_the_terminal_has_reported_its_size() -> None:
    resized, pressed = messages(b"\x1b[48;40;120;800;1200t\x1b[<0;50;10M")
    assert isinstance(resized, events.Resize) and isinstance(pressed, events.MouseDown)
    assert (pressed.x, pressed.y) == (49, 9)


@pytest.mark.parametrize("byte", range(0x80, 0x100))
def test_byte_that_is_not_utf8_presses_no_key(byte: int) -> None:
    assert keys(messages(b"a%c" % byte, b"b")) == ["a", "b"]


def test_characters_of_utf8_are_typed_wherever_a_read_ends() -> None:
    text = "é漢🙂"
    for cut in range(len(text.encode())):
        typed = messages(text.encode()[:cut], text.encode()[cut:])
        assert "".join(str(message.character) for message in typed if isinstance(message, events.Key)) == text


def test_undecodable_bytes_of_a_paste_are_replaced() -> None:
    (pasted,) = messages(b"\x1b[200~caf\xe9 au lait\x1b[201~ "[:-1])  # Textual sends it with the next character
    assert isinstance(pasted, events.Paste) and pasted.text == "caf\ufffd au lait"


@pytest.mark.parametrize(
    "sequence",
    [
        b"\x1b[99999999999u",  # a key beyond Unicode
        b"\x1b[1:2;3u",
        b"\x1b[55296u",  # half a surrogate pair
        b"\x1b[48;0;0;0;0t",  # no rows
        b"\x1b[48;999999;999999;1;1t",
        b"\x1b[<0;99999999;1M",
        b"\x1b[5;5R",  # a cursor position, which would move the mouse
        "\x85\x9b\u202e".encode(),  # controls
    ],
)
def test_damaged_sequence_is_dropped_and_the_next_key_arrives(sequence: bytes) -> None:
    sent = messages(sequence, b"\x1b[A", b"b")
    assert keys(sent) == ["up", "b"] and len(sent) == 2


def random_bytes(dice: random.Random) -> bytes:
    """Return bytes as line noise, or as parts of escape sequences."""
    parts = (
        *REPORTS.values(),
        b"\x1b",
        b"\x1b[",
        b"\x1b[<",
        b"M",
        b"m",
        b"u",
        b";",
        b":",
        b"99999",
        b"t",
        b"R",
    )
    if dice.random() < 0.5:
        return dice.randbytes(dice.randrange(1, 20))
    return b"".join(dice.choice(parts) for _ in range(dice.randrange(1, 8)))


def test_ten_thousand_random_strings_are_read() -> None:
    dice, source = random.Random(1), TerminalInput()
    count = 0
    for _ in range(10_000):
        for message in source.read(random_bytes(dice)):
            count += 1
            if isinstance(message, events.Key) and message.character:
                assert message.character.isascii() or message.character.isprintable()
    assert count > 10_000


def test_decoder_holds_back_nothing_but_begun_mouse_reports() -> None:
    decoder: Any = InputDecoder()
    for data in (b"\x1b", b"[", b"A", b"\x1b[", b"Z"):
        assert decoder.decode(data) == data.decode()
    assert [decoder.decode(data) for data in (b"\x1b[M", b"\x20\xe0", b"0q")] == ["", "", "\x1b[M!!!q"]
