"""Session files written event by event, a fake engine that records commands, and a fake clock."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from explained import explained
from screen_text import screen_text
from textual import constants
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    Answered,
    CaseFinished,
    CasePrepared,
    CaseStarted,
    Level,
    Message,
    NodeJoined,
    NodeLost,
    Outcome,
    Phase,
    Resumed,
    RoundFinished,
    RoundsPlanned,
    SessionFinished,
    SessionStarted,
    SettledCase,
    Steps,
    Telemetry,
)
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library import import_preview, paths
from benchtui.sessions.payloads import (
    AnswerComparison,
    Energy,
    Gpu,
    GpuReadings,
    Host,
    HostReadings,
    Memory,
    Model,
    ProcessSpread,
)
from benchtui.sessions.permissions.needed import NO_CONSENT, Consent, Permission
from benchtui.sessions.report.content import Section
from benchtui.sessions.sweep import Axes, Baseline, Config, Measure, Sweep, cases
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.library.import_dialog import ImportDialog
from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.pages.questions import OtherSweepScreen, PermissionScreen
from benchtui.tui.panels.case_table import CaseTable
from benchtui.tui.replay.player import ReplayTarget, Start
from benchtui.tui.report.screen import ReportScreen
from benchtui.tui.shell import keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import ComparisonRequested, ExitReason
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.panel import Panel

PARTS = {"tokenize": 0.2, "forward": 0.8}


def fake_gpu(index: int) -> Gpu:
    """Return a GPU of a test machine."""
    return Gpu(index=index, name="Test GPU", memory_mb=80_000, power_limit_w=400, uuid=f"GPU-{index}")


class Story:
    """Session file that a test writes event by event."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.t = 0.0
        self._journal = Journal(path)
        self._plan: tuple[Any, ...] = ()

    def begin(
        self,
        *,
        gpus: int = 1,
        device: str = "cuda:0",
        batch_sizes: tuple[int, ...] = (1, 2, 4),
        iterations: int = 20,
        name: str = "trial",
        cpu_count: int = 16,
        baseline: Baseline | None = None,
        rounds: int = 1,
        auto: bool = False,
        simulated: str | None = None,
        **axes: tuple[Any, ...],
    ) -> "Story":
        wanted = baseline or Baseline(batch_size=1)
        measure = Measure(warmup=2, iterations=iterations, baseline=wanted, rounds=rounds, rounds_auto=auto)
        spanned = Axes(device=(device,), batch_size=batch_sizes, **axes)
        sweep = Sweep(name=name, model="tiny-bert", axes=spanned, measure=measure)
        self._plan = tuple(case.config for case in cases(sweep))
        host = Host(
            hostname="box",
            cpu_count=cpu_count,
            memory_mb=64_000,
            processor="Test CPU",
            gpus=tuple(map(fake_gpu, range(gpus))),
            absent={} if gpus else {"gpu": "no NVIDIA driver on this machine"},
        )
        facts = {"id": "story", "created": "2026-11-21T10:00:00Z", "simulated": simulated}
        recorded = ProcessSpread(between=0.001 if rounds > 1 else 0.022, freedom=12.0)
        earlier = {"cpu": recorded, "cuda": recorded}
        self._add(SessionStarted(t=0, sweep=sweep, plan=self._plan, host=host, process_spread=earlier, **facts))
        return self

    @property
    def plan(self) -> tuple[Any, ...]:
        return self._plan

    def join(self, node: str, gpus: int = 0) -> "Story":
        gpu_list = tuple(map(fake_gpu, range(gpus)))
        host = Host(hostname=node, cpu_count=16, memory_mb=64_000, processor="Test CPU", gpus=gpu_list)
        return self._add(NodeJoined(t=self.t, node=node, host=host, kind="Test GPU", clock_offset_s=0.0))

    def lose(self, node: str, reason: str) -> "Story":
        return self._add(NodeLost(t=self.t, node=node, reason=reason))

    def start(self, case: int, node: str | None = None, round_index: int = 0) -> "Story":
        config = self._plan[case]
        started = CaseStarted(t=self.t, case=case, round=round_index, config=config, pid=1, node=node)
        return self._add(started)

    def prepare(self, case: int, *marks: str, **fields: Any) -> "Story":
        model = Model(name="tiny-bert", parameters=66_955_010)
        name, _, index = self._plan[case].device.partition(":")
        uuid = f"GPU-{index}" if name == "cuda" else None
        return self._add(
            CasePrepared(t=self.t, case=case, model=model, marks=marks, **{"gpu_uuid": uuid} | fields)
        )

    def steps(self, case: int, ms: list[float], phase: Phase = "measure", round_index: int = 0) -> "Story":
        parts = {name: [value * share for value in ms] for name, share in PARTS.items()}
        self.t += sum(ms) / 1000
        return self._add(Steps(t=self.t, case=case, phase=phase, round=round_index, wall_ms=ms, parts_ms=parts))

    def finish(self, case: int, outcome: Outcome = "ok", **fields: Any) -> "Story":
        memory = Memory(peak_reserved_mb=700.0, peak_rss_mb=1600.0) if outcome == "ok" else None
        energy = Energy(energy_j=50.0, mean_power_w=210.0, source="counter") if outcome == "ok" else None
        return self._add(
            CaseFinished(t=self.t, case=case, outcome=outcome, memory=memory, energy=energy, **fields)
        )

    def round(self, case: int, ms: float = 10.0, round_index: int = 0) -> "Story":
        """Write a round of a case that another one may follow."""
        self.start(case, round_index=round_index).prepare(case).steps(case, [ms] * 20, round_index=round_index)
        return self._add(RoundFinished(t=self.t, case=case, round=round_index))

    def plan_rounds(self, *cases: int, settled: dict[int, str] | None = None) -> "Story":
        reasons = tuple(SettledCase(case=case, reason=reason) for case, reason in (settled or {}).items())
        figures = {"open_questions": len(cases), "spent_s": 12.0, "budget_s": 60.0}
        return self._add(RoundsPlanned(t=self.t, cases=cases, settled=reasons, **figures))

    def case(
        self, case: int, ms: float = 10.0, steps: int = 20, *marks: str, rounds: int = 1, **ended: Any
    ) -> "Story":
        """Write a complete, successful case. Three equal rounds allow a sure verdict."""
        self.start(case).wait(1.0).prepare(case, *marks).steps(case, [ms * 2, ms], "warmup")
        for round_index in range(rounds):
            self.steps(case, [ms + i % 5 / 100 for i in range(steps)], round_index=round_index)
        return self.finish(case, **ended)

    def rounds(self, case: int, *times_ms: float) -> "Story":
        """Write a complete, successful case whose rounds took these times."""
        *before, last_ms = times_ms
        for round_index, ms in enumerate(before):
            self.round(case, ms, round_index)
        last = len(before)
        self.start(case, round_index=last).prepare(case).steps(case, [last_ms] * 20, round_index=last)
        return self.finish(case)

    def telemetry(
        self,
        gpus: int = 1,
        throttle: str = "",
        node: str | None = None,
        differing: Mapping[int, Mapping[str, float | str]] = MappingProxyType({}),
    ) -> "Story":
        """Write four readings, one second in total; ``differing`` has other values by GPU."""
        at_s = [self.t + quarter / 4 for quarter in range(4)]
        self.t += 1
        readings = tuple(
            GpuReadings(
                index=index,
                power_w=[300.0, 310.0, 320.0, 330.0],
                power_limit_w=400,
                memory_used_mb=[8_000.0] * 4,
                memory_total_mb=80_000,
                utilization_percent=[97.0] * 4,
                temperature_c=[61.0] * 4,
                graphics_clock_mhz=[1980.0] * 4,
                throttle=[throttle] * 4,
            )
            for index in range(gpus)
        )
        readings = tuple(
            msgspec.structs.replace(
                each, **{name: [value] * 4 for name, value in differing.get(each.index, {}).items()}
            )
            for each in readings
        )
        host = HostReadings(
            cpu_percent=[110.0] * 4,
            memory_used_mb=[12_000.0] * 4,
            worker_cpu_percent=[99.0] * 4,
            worker_rss_mb=[1_600.0] * 4,
            engine_cpu_percent=[0.6] * 4,
        )
        return self._add(Telemetry(t=self.t, at_s=at_s, gpus=readings, host=host, node=node))

    def answer(self, case: int, **figures: Any) -> "Story":
        """Compare the answer of a case with that of case 0."""
        compared = AnswerComparison(case=case, baseline=0, **figures)
        return self._add(Answered(t=self.t, case=case, comparisons=(compared,)))

    def say(self, text: str, level: Level = "info") -> "Story":
        return self._add(Message(t=self.t, level=level, text=text))

    def end(self, outcome: Any = "completed") -> "Story":
        return self._add(SessionFinished(t=self.t, outcome=outcome))

    def resume(self, *cases: int) -> "Story":
        """Resume the session; these cases start again."""
        self._journal.close()
        self._journal = Journal(self.path, resumed=True)
        host = Host(hostname="box")
        return self._add(Resumed(t=self.t, created="2026-11-21T12:00:00Z", host=host, cases=cases))

    def wait(self, seconds: float) -> "Story":
        self.t += seconds
        return self

    def _add(self, event: Any) -> "Story":
        self._journal.append(event)
        return self

    def close(self) -> None:
        self._journal.close()


@dataclass
class FakeEngine:
    """Notes what it is told; a test decides whether it is_alive."""

    path: Path
    session_id: str = "story"
    pid: int = 1
    is_alive: bool = True
    commands: list[str] = field(default_factory=list)
    error: str = ""
    exit_message: str | None = None

    def skip(self, case: int | None = None) -> None:
        self._record("skip" if case is None else f"skip {case}")

    def pause(self) -> None:
        self._record("pause")

    def go_on(self) -> None:
        self._record("continue")

    def drop(self, cases: list[int]) -> None:
        self._record(f"drop {cases}")

    def add(self, configs: list[Config], consent: Consent = NO_CONSENT) -> tuple[int, ...]:
        self._record(f"add {configs[0].name}")
        return (9,)

    def order(self, cases: list[int]) -> None:
        self._record(f"order {cases}")

    def again(self, case: int) -> int:
        self._record(f"again {case}")
        return 9

    def explain(self, cases: list[int]) -> None:
        self._record(f"explain {cases[0]}")

    def stop(self) -> None:
        self._record("stop")

    def alive(self) -> bool:
        return self.is_alive

    def last_words(self) -> str | None:
        return self.exit_message

    def _record(self, command: str) -> None:
        self.commands.append(command)
        if self.error:
            raise BenchtuiError(self.error)


@dataclass
class FakeClock:
    """Clock that a test advances."""

    now_s: float = 100.0

    def __call__(self) -> float:
        return self.now_s


class Seen:
    """The app as a test drives and sees it."""

    def __init__(self, app: BenchtuiApp, pilot: Pilot[ExitReason], clock: FakeClock) -> None:
        self.app = app
        self.pilot = pilot
        self.clock = clock

    @property
    def exit_reason(self) -> ExitReason | None:
        """Why the app ended, without the session that it showed."""
        ended = self.app.return_value
        return ended and msgspec.structs.replace(ended, session=None)

    async def look(self) -> None:
        """Let the Monitor read and draw now."""
        await self.pilot.pause()
        if isinstance(self.app.screen, Monitor):
            self.app.screen.tick()
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.look()

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait at most half a minute for a condition that a thread will fulfill."""
        for _ in range(1500):
            await self.pilot.pause(0.02)
            if happened():
                return
        raise AssertionError(self.text)

    async def double_click(self, selector: str, offset: tuple[int, int]) -> None:
        """Click twice, however long a loaded machine takes for it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(self.app), "CLICK_CHAIN_TIME_THRESHOLD", 60.0)
            await self.pilot.click(selector, offset=offset, times=2)

    async def settle(self, *keys: str) -> None:
        """Press keys, and wait for the workers that each starts."""
        for key in keys:
            await self.pilot.press(key)
            await self._wait_for_workers()
        await self._wait_for_workers()
        await self.look()

    async def _wait_for_workers(self) -> None:
        """Wait for all workers, including replacements of canceled ones."""
        while True:
            try:
                return await self.app.workers.wait_for_complete()
            except WorkerCancelled:
                await self.pilot.pause()

    def panel(self, name: str) -> list[str]:
        """Lines of a panel, below the title of its frame where that says what the panel shows."""
        frames = {"current": "case", "zoom": "zoomed"}
        titles = [seen.title_text() for seen in self.app.screen.query(Frame) if seen.id == frames.get(name)]
        return [*titles, *self.app.screen.query_one(f"#{name}", Panel).lines()]

    @property
    def table(self) -> list[str]:
        return self.app.screen.query_one(CaseTable).lines()

    @property
    def text(self) -> str:
        """The whole screen, cell by cell."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)


Open = Callable[..., Any]


LEAD = {
    "sweep": "1",
    "open": "1 o",
    "columns": "C",
    "charts": "3",
    "case": "enter",
    "why": "W",
    "library": "4",
    "page": "question_mark",
    "nothing": "2",
    "palette": "1 colon",
}
"""Keys that lead from the initial view to each place."""


@dataclass(frozen=True)
class Stage:
    """A running session, a library, and the app in any of its places."""

    story: Story
    engine: FakeEngine
    clock: FakeClock

    def app(self, place: str, app_context: AppContext, **options: Any) -> BenchtuiApp:
        """Return an app from which the place can be reached."""
        if place == "replay":
            start = Start(target=ReplayTarget(percent=40))
            return BenchtuiApp(app_context, self.story.path, start=start, clock=self.clock, **options)
        if place in ("monitor", "columns", "charts", "case", "page", "why"):
            return BenchtuiApp(app_context, self.story.path, self.engine, clock=self.clock, **options)
        return BenchtuiApp(app_context, clock=self.clock, **options)

    async def enter(self, place: str, pilot: Pilot[ExitReason]) -> Seen:
        """Go to the place."""
        seen = Seen(pilot.app, pilot, self.clock)  # type: ignore[arg-type]
        if place == "compare":
            seen.app.post_message(ComparisonRequested(tuple(each.path for each in paths.entries()[:2])))
        if place == "permission":
            variables = [Permission(kind="variable", name=f"NAME{number}", value="1") for number in range(60)]
            seen.app.push_screen(PermissionScreen("a session", variables, seen.app._symbols))
        if place == "other_sweep":
            seen.app.push_screen(OtherSweepScreen(["quick-77"], lambda: [self.engine], seen.app._symbols))
        if place == "import":
            await self._open_import(pilot)
        if place == "report":
            parts = tuple(Section(f"Section {number}", ("text",)) for number in range(20))
            report = Section("Report", parts)
            seen.app.push_screen(ReportScreen(lambda: report, lambda: None, seen.app._symbols))
        first = ["g"] if place == "why" else []
        await seen.settle(*first, *LEAD.get(place, "").split())
        return seen

    async def _open_import(self, pilot: Pilot[ExitReason]) -> None:
        """Open the dialog of a table with many cases, and wait until they are shown."""
        path = self.story.path.with_name("table.csv")
        path.write_text("model,batch,latency_ms\n" + "".join(f"a,{size},{size}.5\n" for size in range(1, 41)))
        table = import_preview.read(path)
        assert table is not None
        dialog = ImportDialog(path, table, pilot.app._symbols)  # type: ignore[attr-defined]
        pilot.app.push_screen(dialog)
        while not dialog._mapped.cases:
            await pilot.pause(0.02)

    @asynccontextmanager
    async def at(
        self, place: str, app_context: AppContext, size: tuple[int, int] = (80, 24), **options: Any
    ) -> AsyncIterator[Seen]:
        """Run the app in the place, on a small terminal."""
        async with self.app(place, app_context, **options).run_test(size=size) as pilot:
            yield await self.enter(place, pilot)


@pytest.fixture(autouse=True, scope="session")
def styles_parsed_once() -> Iterator[None]:
    """Keep parsed styles from app to app: parsing them takes a large part of an app's start."""
    parsed: dict[object, list[RuleSet]] = {}
    parse = Stylesheet._parse_rules

    def parse_once(sheet: Stylesheet, css: str, *place: Any, **more: Any) -> list[RuleSet]:
        key = css, place, tuple(more.items()), tuple(sheet._variables.items())
        if key not in parsed:
            parsed[key] = parse(sheet, css, *place, **more)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(autouse=True)
def default_keys() -> Iterator[None]:
    """Clear the user's key map after each test."""
    yield
    keymap.set_user_map({})


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    made = Story(tmp_path / "trial.json")
    yield made
    made.close()


@pytest.fixture
def make_story() -> type[Story]:
    """Return the class that writes a session file at a path."""
    return Story


@pytest.fixture
def engine(story: Story) -> FakeEngine:
    return FakeEngine(story.path)


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty configuration folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "benchtui"


@pytest.fixture(autouse=True)
def all_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the theme independent of the terminal that the tests run in."""
    monkeypatch.setattr(constants, "COLOR_SYSTEM", "truecolor")


@pytest.fixture
def snap_compare(request: pytest.FixtureRequest) -> Callable[..., bool]:
    """Run an app and compare its screen with the recorded text; ``UPDATE_GOLDEN=1 pytest`` records it."""

    def compare(
        app: BenchtuiApp,
        terminal_size: tuple[int, int],
        run_before: Callable[[Pilot[Any]], Awaitable[None]] | None = None,
    ) -> bool:
        async def look(pilot: Pilot[Any]) -> None:
            if run_before:
                await run_before(pilot)
            await pilot.pause()
            await pilot.wait_for_scheduled_animations()
            await pilot.pause()
            shown.append(screen_text(app))
            app.exit()

        shown: list[str] = []
        app.run(headless=True, auto_pilot=look, size=terminal_size)
        recorded = request.path.parent / "__snapshots__" / request.path.stem / f"{request.node.name}.txt"
        if os.environ.get("UPDATE_GOLDEN"):
            recorded.parent.mkdir(parents=True, exist_ok=True)
            recorded.write_text(shown[0])
        assert shown[0] == recorded.read_text()
        return True

    return compare


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def app_context(tmp_path: Path) -> AppContext:
    """A machine without engines and sessions, in an empty folder."""
    folder = tmp_path / "folder"
    folder.mkdir()

    def start(what: Sweep | Path, consent: Consent, wait: bool) -> Any:
        raise BenchtuiError("no engine in this test")

    return AppContext(
        start=start,
        running=list,
        find=lambda path: None,
        recorded=list,
        name_of=lambda path: path.stem,
        folder=folder,
        resume=start,
    )


@pytest.fixture
def opened(app_context: AppContext, clock: FakeClock) -> Open:
    """Open the app on a session file, or without one on the editor or another place."""

    @asynccontextmanager
    async def open_app(
        path: Path | None = None,
        engine: Any = None,
        *,
        size: tuple[int, int] = (120, 40),
        place: str = "sweep",
        **options: Any,
    ) -> AsyncIterator[Seen]:
        app = BenchtuiApp(options.pop("app_context", app_context), path, engine, clock=clock, **options)
        async with app.run_test(size=size) as pilot:
            seen = Seen(app, pilot, clock)
            if path is None:
                await app.action_go(place)
            await seen.look()
            yield seen

    return open_app


@pytest.fixture
def stage(
    home: Path, story: Story, engine: FakeEngine, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> Stage:
    """Set up a session with a running case and two explained ones, and a library of three sessions.

    No case can be profiled.
    """

    def refuse(path: Path, cases: list[int], consent: Consent) -> None:
        raise BenchtuiError("nothing is profiled here")

    monkeypatch.setattr(client, "explain", refuse)
    story.begin(batch_sizes=(1, 2, 4, 8, 16), precision=("fp32", "fp16"), iterations=120)
    story.case(0, 30.0, 120).telemetry().case(1, 10.0, 120).case(5, 8.0, 120)
    story.start(2).wait(2.0).finish(2, "oom", reason="out of memory").say("case 3 ran out of memory", "warning")
    for event in (explained(0), explained(1, fast=True)):
        story._add(msgspec.structs.replace(event, t=story.t))
    story.start(3).prepare(3).steps(3, [20.0] * 2, "warmup").steps(3, [20.0 + n % 3 for n in range(8)])
    for name, processors in (("one", 8), ("two", 16), ("three", 32)):
        other = Story(paths.folder() / f"{name}.json")
        other.begin(name=name, batch_sizes=(1, 2, 4), cpu_count=processors)
        for case in range(3):
            other.case(case)
        other.end().close()
    return Stage(story, engine, clock)
