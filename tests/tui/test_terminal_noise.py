"""Bytes that no terminal should send, on every page: no crash."""

import asyncio
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.terminal import TerminalInput

PAGES = (
    "home",
    "sweep",
    "open",
    "monitor",
    "replay",
    "columns",
    "charts",
    "case",
    "why",
    "library",
    "compare",
    "report",
    "palette",
)
BUTTONS = (0, 1, 2, 3, 32, 35, 64, 65, 66, 67, 128)
PLACES = ((1, 1), (40, 12), (80, 24), (150, 60), (223, 223))


def reports() -> list[bytes]:
    """Return mouse reports in all four encodings, of positions on the screen and beyond it."""
    sent = []
    for button in BUTTONS:
        for column, row in PLACES:
            x10 = bytes(min(255, 32 + value) for value in (button, column, row))
            utf8 = "".join(chr(32 + value) for value in (button, column, row)).encode()
            sent += [b"\x1b[M" + x10, b"\x1b[M" + utf8, b"\x1b[%d;%d;%dM" % (32 + button, column, row)]
            sent += [b"\x1b[<%d;%d;%d%c" % (button, column, row, end) for end in b"Mm"]
    return sent


BATCH, PER_APP = 25, 1000
"""Strings that are sent before the app is waited for, and before a new app begins on the page again."""


async def send(app: BenchtuiApp, sent: Iterable[bytes], *, keys: bool = True) -> None:
    """Put what a terminal sends into the app, and wait until it is handled, or the app has ended."""
    source = TerminalInput()
    for data in sent:
        for message in (*source.read(data), *source.tick()):
            if keys or not isinstance(message, events.Key | events.Paste):
                app.post_message(message)
    while app.return_value is None and (not app.key_queue.settled or app.message_queue_size):
        await asyncio.sleep(0.005)


def noise_of(dice: random.Random, strings: int) -> Iterator[bytes]:
    """Yield byte strings: of any bytes, or a damaged sequence, or one that ends in the middle."""
    whole = [
        *reports(),
        b"\x1b[200~pasted\x1b[201~",
        b"\x1b[48;24;80;480;800t",
        b"\x1b[?2026;2$y",
        b"\x1b[97;5u",
    ]
    for _ in range(strings):
        data = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 8)))
        sequence = dice.choice(whole)
        place = dice.randrange(len(sequence))
        damaged = sequence[:place] + bytes([dice.randrange(256)]) + sequence[place + dice.randrange(2) :]
        yield dice.choice((data, damaged, sequence[:place] + data))


@pytest.mark.parametrize("page", PAGES)
async def test_mouse_and_undecodable_bytes_on_a_page(stage: Any, app_context: AppContext, page: str) -> None:
    dice = random.Random(page)
    noise = [b"%c" % byte for byte in range(0x80, 0x100)]
    noise += [bytes(dice.randrange(0x80, 0x100) for _ in range(dice.randrange(1, 20))) for _ in range(300)]
    async with stage.at(page, app_context) as seen:
        shown = seen.app.screen
        await send(seen.app, noise)
        assert seen.app.screen is shown, "undecodable bytes press no keys"
        await send(seen.app, reports())
        await seen.look()
    assert seen.app.return_code in (0, None)


@pytest.mark.parametrize(
    ("strings", "with_keys"), [(200, 50), pytest.param(10_000, 500, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("page", PAGES)
async def test_random_bytes_on_a_page(
    stage: Any,
    app_context: AppContext,
    page: str,
    strings: int,
    with_keys: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the last strings press the keys among them: these lead to other pages, but start no engine."""

    def refuse(*_: object) -> None:
        raise BenchtuiError("nothing starts here")

    monkeypatch.setattr(client, "_start", refuse)
    monkeypatch.chdir(tmp_path)
    noise = list(noise_of(random.Random(f"{page} {strings}"), strings))
    begin = 0
    while begin < strings:
        end = min((begin // PER_APP + 1) * PER_APP, strings)
        async with stage.at(page, app_context) as seen:
            while begin < end and seen.app.return_value is None:
                keys = begin >= strings - with_keys
                await send(seen.app, noise[begin : begin + BATCH], keys=keys)
                begin += BATCH
        assert seen.app.return_code in (0, None)
