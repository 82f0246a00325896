"""However a recording is played, the Monitor's last frame says what the exports say.

Sessions are drawn at random and played at random speeds, with jumps and pauses between the frames.
"""

import asyncio
import json
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from random_sessions import random_events

from benchtui.sessions.advice.conclusion import conclude
from benchtui.sessions.export.case_export import as_json
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.state.session import Session
from benchtui.sessions.text.formatting import number, ratio_text
from benchtui.themes.symbols import UNICODE
from benchtui.tui.cli import app
from benchtui.tui.model.session_view import View
from benchtui.tui.panels.answer_card import Answer
from benchtui.tui.replay.feed import Replay
from benchtui.tui.replay.player import SPEEDS, ReplayTarget, Start

SEEDS = range(30)
LONG_SEEDS = range(30, 1000)


class Frame(NamedTuple):
    """What the Monitor shows of a session that is over."""

    order: list[int]
    best: list[int]
    starred: set[int]
    figures: dict[int, dict[str, str]]
    """Cells of each case, by column."""
    answer: Answer
    log: list[str]


class Played:
    """A recording in the Monitor's classes, with a clock that the test advances."""

    def __init__(self, path: Path, dice: Random) -> None:
        self.now_s = 0.0
        self._dice = dice
        self.replay = Replay(path, None, lambda: self.now_s, Start(dice.choice(SPEEDS)))
        self.conclusions = self.replay.conclusions
        self._view: View | None = None

    def frame(self) -> View | None:
        """Read and build a frame as the Monitor does."""
        self.replay.poll()
        session = self.replay.session
        if not session.started:
            return None
        if self._view is None or self._view.session is not session:
            self._view = View(self.replay, UNICODE, "drawn", self._view, self.conclusions.newest)
        self._view.update()
        self._view.current(), self._view.band(), self._view.answer()
        self._view.order.show_end(self._view.over, self._view.starred)
        rows = self._view.rows()
        for place in range(0, rows.count, self._dice.randint(1, 5)):
            dict(rows.row(place).cells)
        return self._view

    def conclude(self) -> bool:
        """Compute conclusions that are due; return whether there were any."""
        due = self.conclusions.has_pending_work
        if due:
            asyncio.run(self.conclusions.compute_pending())
        return due

    def advance(self) -> None:
        """Let time pass, jump, or leave conclusions for later."""
        match self._dice.randrange(6):
            case 0:
                self.replay.seek_to(ReplayTarget(percent=self._dice.uniform(0, 100)))
            case 1:
                self.replay.jump(self._dice.choice((-1, 1)))
            case 2:
                self.conclude()
            case _:
                self.now_s += self._dice.uniform(0, 30) / self.replay.player.speed


def last_frame(path: Path, dice: Random) -> Frame:
    """Play a recording and return the frame at its end."""
    played = Played(path, dice)
    with closing(played.replay):
        for _ in range(dice.randint(0, 12)):
            played.advance()
            played.frame()
        played.replay.seek_to(ReplayTarget(percent=100))
        while not played.replay.over or played.conclude():
            played.frame()
        view = played.frame()
        assert view is not None
        cells = {case.index: view.case_rows.row(case.index).cells for case in view.session.cases}
        keys = ("samples", "p50", "base")
        figures = {index: {key: row[key][0] for key in keys} for index, row in cells.items()}
        log = [message.text for message in view.messages()]
        newest = played.conclusions.newest()
        best = [work.best.case.index for work in newest.works] if newest else []
        return Frame(list(view.order.order), best, set(view.starred), figures, view.answer(), log)


def written(seed: int, folder: Path) -> Path:
    path = folder / f"{seed}.json"
    with closing(Journal(path)) as journal:
        for event in random_events(seed):
            journal.append(event)
    return path


def choices(path: Path) -> list[dict[str, Any]]:
    """Return what ``optimal --json`` prints."""
    printed = CliRunner().invoke(app, ["optimal", str(path), "--json"])
    return list(json.loads(printed.stdout)["decisions"])


@pytest.mark.parametrize("seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.long) for seed in LONG_SEEDS)])
def test_the_last_frame_says_what_exports_say(seed: int, tmp_path: Path) -> None:
    path = written(seed, tmp_path)
    shown, session = last_frame(path, Random(seed)), Session.load(path)
    exported = {row["case"]: row for row in json.loads(as_json(session))["cases"]}
    measured = {index: row for index, row in exported.items() if row["samples_per_s"] is not None}
    for index, row in measured.items():
        cells = shown.figures[index]
        about = cells["samples"].startswith(UNICODE.about)
        shown_rate = number(row["samples_per_s"], significant=2) if about else number(row["samples_per_s"])
        assert cells["samples"].removeprefix(UNICODE.about) == shown_rate
        assert row["latency_typical_ms"] is None or cells["p50"] == number(row["latency_typical_ms"])
        if row["speedup"] is not None and row["baseline"] != index:
            next_to_a_neighbor = row["verdict_doubt"] == "outside" and row["speedup_low"] is None
            ratio = "" if next_to_a_neighbor else f"{ratio_text(row['speedup'])}x"
            assert cells["base"].strip("≈?*") == ratio
    decisions = [decision for decision in choices(path) if decision["best"]]
    assert shown.best == [decision["best"]["case"] for decision in decisions]
    assert shown.starred == conclude(session).starred
    for work, decision in zip(shown.answer.works, decisions, strict=True):
        assert (number(decision["best"]["samples_per_s"]) or "") in work.figures[0]
        assert not work.decided or work.certainty == decision["confidence"].replace(" ×", "x")
    order = [index for index in shown.order if index in measured]
    assert set(order[: len(shown.starred)]) == shown.starred
    rates = [measured[index]["samples_per_s"] for index in order[len(shown.starred) :]]
    assert rates == sorted(rates, reverse=True)
    for index, row in measured.items():
        ended = [text for text in shown.log if text.startswith(f"case {index + 1} finished: ")]
        assert all(f"{number(row['samples_per_s'])} samples/s" in text for text in ended)
