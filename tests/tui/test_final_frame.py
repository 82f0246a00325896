"""However a recording is played, and however slow the machine is, the last frame says what exports say.

Sessions are drawn at random and played at random speeds, with jumps and pauses between the frames. Files are
read and events applied in pieces that end anywhere, and threads start and end late.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from journals import write_journal
from random_sessions import random_events

from benchtui.sessions.advice.conclusion import conclude
from benchtui.sessions.export.case_export import as_json
from benchtui.sessions.replay import timeline
from benchtui.sessions.state.session import Session
from benchtui.sessions.text.formatting import number, ratio_text
from benchtui.themes.symbols import UNICODE
from benchtui.tui.cli import app
from benchtui.tui.drawing.format import compact
from benchtui.tui.drawing.heat_grid import HeatCell
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.live import case_verdicts, feed, step_cache, step_statistics
from benchtui.tui.live.feed import Feed
from benchtui.tui.model.session_view import View
from benchtui.tui.monitor.end_map import end_map
from benchtui.tui.panels.answer_card import Answer
from benchtui.tui.panels.case_panel import PanelMetrics, current_lines
from benchtui.tui.replay.feed import Replay
from benchtui.tui.replay.player import SPEEDS, ReplayTarget, Start
from benchtui.tui.table.columns import CATALOGUED, FORMATS, KEYS

SEEDS = range(30)
LONG_SEEDS = range(30, 1000)
EXPORTED = {
    "p50": "latency_typical_ms",
    "p99": "latency_p99_ms",
    "interval": "latency_typical_percent",
    "power": "mean_power_w",
    "steps": "n",
    **{key: key for key in CATALOGUED},
}
"""Columns of numbers by what exports call them."""


class Frame(NamedTuple):
    """What the Monitor shows of a session that is over."""

    order: list[int]
    best: list[int]
    starred: set[int]
    cells: dict[int, dict[str, str]]
    """Every cell of each case, by column."""
    answer: Answer
    panel: list[Line]
    metrics: PanelMetrics | None
    """Figures of the panel, of the case to run."""
    heading: tuple[object, ...]
    parts: object
    heat: list[HeatCell]
    log: list[str]


class Machine:
    """Clock, pieces and threads of a machine that is slow at random."""

    def __init__(self, patch: pytest.MonkeyPatch, dice: Random | None = None) -> None:
        """Make one; without ``dice``, it is as fast as can be."""
        self.now_s = 0.0
        self.dice = dice or Random(0)
        self._fast = dice is None
        self._look_s = self.draw(0.1, 0.01, 0.0)
        """Maximum seconds between two looks at the clock."""
        for module in (timeline, feed):
            patch.setattr(module, "BATCH_BYTES", self.draw(500, 5_000, 1 << 16))
        patch.setattr(timeline, "BATCH_EVENTS", self.draw(1, 5, 100))
        patch.setattr(asyncio, "to_thread", self._in_thread)
        most = self.draw(30, 100, 20_000)
        for module in (step_statistics, step_cache, case_verdicts):
            patch.setattr(module, "THREAD_STEPS", most)
        patch.setattr(step_cache, "ALWAYS_KEPT_STEPS", 0)  # as always, fewer than for a thread

    def draw(self, *choices: Any) -> Any:
        """Draw one of several choices; a fast machine takes the last one."""
        return choices[-1] if self._fast else self.dice.choice(choices)

    def clock(self) -> float:
        """Return a time that has passed."""
        self.now_s += self._look_s * self.dice.random()
        return self.now_s

    async def _in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call what a thread is to do, between pauses in which frames are drawn."""
        for _ in range(self.draw(2, 1, 0)):
            await asyncio.sleep(0)
        result = call(*arguments)
        for _ in range(self.draw(3, 2, 1, 0)):
            await asyncio.sleep(0)
        return result


class Played:
    """A recording in the Monitor's classes: opened at its end, or replayed."""

    def __init__(self, path: Path, machine: Machine) -> None:
        self._machine = machine
        start = Start(machine.draw(*SPEEDS), machine.draw(None, ReplayTarget(percent=100)))
        self.feed: Feed = (
            Replay(path, None, machine.clock, start)
            if machine.draw(True, False)
            else Feed(path, None, machine.clock)
        )
        self._view: View | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def frame(self) -> View | None:
        """Read, compute and build a frame as the Monitor does."""
        feed = self.feed
        feed.poll()
        self._run("cache", feed.cache.has_pending_work, self._run_cache)
        if feed.session.started is None:
            return None
        if self._view is None or self._view.session is not feed.session:
            self._view = View(feed, UNICODE, "drawn", self._view, feed.conclusions.newest)
        statistics = self._view.case_rows.statistics
        self._run("statistics", statistics.has_pending_work, statistics.compute_pending)
        if self._machine.draw(False, True, True):
            self._run("conclude", feed.conclusions.has_pending_work, feed.conclusions.compute_pending)
        await asyncio.sleep(0)
        view = self._view
        view.update()
        view.heading(()), view.current(), view.band(), view.parts(), view.answer(), view.messages()
        view.order.show_end(view.over, view.starred)
        rows = view.rows()
        for place in range(0, rows.count, self._machine.dice.randint(1, 5)):
            dict(rows.row(place).cells)
        return view

    async def _run_cache(self) -> None:
        while self.feed.cache.has_pending_work:
            await self.feed.cache.run_pending()
        if self._view is not None:
            self._view.case_rows.refresh(())

    def _run(self, name: str, due: bool, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if due:
            self._tasks[name] = asyncio.ensure_future(work())

    @property
    def busy(self) -> bool:
        """Whether there is anything left to read or to compute."""
        feed, working = self.feed, not all(task.done() for task in self._tasks.values())
        statistics = self._view.case_rows.statistics if self._view else None
        pending = any(each and each.has_pending_work for each in (feed.cache, feed.conclusions, statistics))
        return working or pending or feed.running or not feed.caught_up

    def advance(self) -> None:
        """Let time pass, or jump in a replay."""
        feed, dice = self.feed, self._machine.dice
        move = dice.randrange(5) if isinstance(feed, Replay) else None
        if move == 0:
            feed.seek_to(ReplayTarget(percent=dice.uniform(0, 100)))
        elif move == 1:
            feed.jump(dice.choice((-1, 1)))
        elif move is not None:
            self._machine.now_s += dice.uniform(0, 30) / feed.player.speed


async def last_frame(path: Path, machine: Machine) -> Frame:
    """Play a recording and return the frame at its end."""
    played = Played(path, machine)
    with closing(played.feed):
        for _ in range(machine.draw(*range(12, -1, -1))):
            await played.frame()
            played.advance()
        if isinstance(played.feed, Replay):
            played.feed.seek_to(ReplayTarget(percent=100))
        await played.frame()
        while played.busy:
            await played.frame()
        view = await played.frame()
        assert view is not None
        for case in view.session.cases:  # also those that no frame had room for
            view.case_rows.row(case.index)
        while played.busy:
            await played.frame()
        cells = {
            case.index: {key: view.case_rows.row(case.index).cells[key][0] for key in KEYS}
            for case in view.session.cases
        }
        heading, newest = view.heading(()), played.feed.conclusions.newest()
        shown = end_map(view, newest, UNICODE) if newest else None
        rows = shown[1].grids[0].cells if shown else ()
        return Frame(
            list(view.order.order),
            [work.best.case.index for work in newest.works] if newest else [],
            set(view.starred),
            cells,
            view.answer(),
            current_lines(view.current(), 120, 2, UNICODE),
            view.current().metrics,
            (heading.done, heading.total, heading.skipped, heading.state, heading.marks),
            view.parts(),
            [cell for row in rows for cell in row if cell],
            [message.text for message in view.messages()],
        )


def written(seed: int, folder: Path) -> Path:
    path = folder / f"{seed}.json"
    return write_journal(path, random_events(seed))


def choices(path: Path) -> list[dict[str, Any]]:
    """Return what ``optimal --json`` prints."""
    printed = CliRunner().invoke(app, ["optimal", str(path), "--json"])
    return list(json.loads(printed.stdout)["decisions"])


@pytest.mark.parametrize("seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.long) for seed in LONG_SEEDS)])
def test_the_last_frame_says_what_exports_say(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(seed, tmp_path)
    with monkeypatch.context() as patch:
        shown = asyncio.run(last_frame(path, Machine(patch, Random(seed))))
    session = Session.load(path)
    exported = {row["case"]: row for row in json.loads(as_json(session))["cases"]}
    measured = {index: row for index, row in exported.items() if row["samples_per_s"] is not None}
    for index, row in measured.items():
        cells = shown.cells[index]
        about = cells["samples"].startswith(UNICODE.about)
        shown_rate = number(row["samples_per_s"], significant=2) if about else number(row["samples_per_s"])
        assert cells["samples"].removeprefix(UNICODE.about) == shown_rate
        for column, key in EXPORTED.items():
            assert row.get(key) is None or cells[column] == FORMATS[column](row[key], UNICODE), column
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
    for cell in shown.heat:
        row = exported[cell.case]
        assert cell.text == ("" if row["samples_per_s"] is None else compact(row["samples_per_s"]))
        assert (cell.sign == UNICODE.best) == (cell.case in shown.starred)
    states = Counter(case.state for case in session.cases)
    left = states["queued"] + states["interrupted"]
    assert shown.heading[:3] == (
        states.total() - states["skipped"] - left,
        states.total() - states["skipped"],
        states["skipped"],
    )
    if shown.best and (panel := shown.metrics):
        best = exported[shown.best[0]]
        assert panel.rate == pytest.approx(best["samples_per_s"]) and panel.n == best["n"]
        assert best["latency_typical_ms"] in (None, pytest.approx(panel.step_ms))
    with monkeypatch.context() as patch:
        calm = asyncio.run(last_frame(path, Machine(patch)))
    assert shown._replace(metrics=None, parts=calm.parts) == calm._replace(metrics=None), (
        "whatever has no figure in exports doesn't depend on the way to the end either"
    )
