"""The Why page: what it profiles, shows and compares; processes are played."""

from collections.abc import Iterator
from typing import Any

import pytest
from explained import explained
from msgspec.structs import replace

from benchtui.engine import client
from benchtui.engine.control import ExplainMessage
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseAdded, CaseFinished
from benchtui.sessions.permissions.needed import NO_CONSENT, Consent, Permission, PermissionNeededError, keys
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep.plan import included_configs
from benchtui.tui.explain.lines import _COLORS
from benchtui.tui.explain.screen import WhyScreen
from benchtui.tui.live import explainer
from benchtui.tui.pages.questions import PermissionScreen

FIRST_CASE = ("g", "down")
"""Keys that select case 1 once the session is over: the table then starts with case 2, the best."""


class FakeProfiling:
    """Profiles cases without a process. ``error`` refuses all."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.error = ""
        self.needed: tuple[Permission, ...] = ()
        self.consent: Consent = NO_CONSENT

    def __call__(self, path: Any, cases: list[int], **options: Any) -> "FakeProfiling":
        self.asked += cases
        self.consent = options["consent"]
        return self

    def messages(self) -> Iterator[ExplainMessage]:
        if self.error:
            raise BenchtuiError(self.error)
        if self.needed and not keys(self.needed) <= self.consent:
            raise PermissionNeededError(self.needed)
        yield ExplainMessage(case=self.asked[-1])
        yield ExplainMessage(case=self.asked[-1], explained=explained(self.asked[-1]))


@pytest.fixture
def profiling(monkeypatch: pytest.MonkeyPatch) -> FakeProfiling:
    fake = FakeProfiling()
    monkeypatch.setattr(client, "explain", fake)
    return fake


def write(story: Any, *events: Any) -> Any:
    story.begin(gpus=0, device="cpu", batch_sizes=(1, 2, 4), baseline=None)
    story.case(0, 28.5).case(1, 16.3).start(2).prepare(2).finish(2, "oom", reason="out of memory")
    for event in events:
        story._add(replace(event, t=story.t))
    story.end()
    return story


async def why(seen: Any, *keys: str) -> str:
    await seen.press("W", *keys)
    for _ in range(50):
        await seen.pilot.pause(0.02)
        if not isinstance(seen.app.screen, WhyScreen):
            continue
        seen.app.screen.draw()
        await seen.pilot.pause()
        if "profiling its step" not in seen.text and "waits for another" not in seen.text:
            break
    return str(seen.text)


async def test_page_of_a_recorded_profile(story: Any, opened: Any, profiling: FakeProfiling) -> None:
    write(story, explained(0), explained(1, fast=True))
    async with opened(story.path) as seen:
        await seen.press(*FIRST_CASE)
        text = await why(seen)
        assert profiling.asked == []
        for fact in (
            "▸ For 28% of the step (8.00 ms), the main thread sleeps",
            "matrix products",
            "aten::addmm",
            "28.8 TFLOP/s",
        ):
            assert fact in text
        assert "case 1 of 3" in text and "28.5 ms" in text
        text = await press(seen, "b")
        assert "against case 2" in text
        text = await press(seen, "n")
        assert "case 2 of 3" in text and "against" not in text


async def press(seen: Any, *keys: str) -> str:
    await seen.pilot.press(*keys)
    await seen.pilot.pause()
    return str(seen.text)


async def test_two_cases_side_by_side_with_the_gap(story: Any, opened: Any, profiling: FakeProfiling) -> None:
    write(story, explained(0), explained(1, fast=True))
    async with opened(story.path) as seen:
        await seen.press(*FIRST_CASE)
        await why(seen, "b")
        text = seen.text
        assert "A sample of case 1 is 20.4 ms longer than one of case 2 (250%)." in text
        whole = next(row for row in seen.panel("page") if "measured difference" in row)
        assert whole.split()[2:5] == ["8.16", "28.5", "+20.4"]
        row = next(row for row in seen.panel("page") if "waiting  " in row)
        assert row.split()[-3:] == ["8.00", "+8.00", "39"]


async def test_a_case_without_a_profile_is_profiled(story: Any, opened: Any, profiling: FakeProfiling) -> None:
    write(story)
    async with opened(story.path) as seen:
        await seen.press(*FIRST_CASE)
        text = await why(seen)
        assert profiling.asked == [0] and "aten::addmm" in text
        await seen.press("escape")
        await why(seen)
        assert profiling.asked == [0]


async def test_what_cannot_be_profiled_has_its_reason(
    story: Any, opened: Any, profiling: FakeProfiling
) -> None:
    write(story)
    profiling.error = (
        "x.json: this isn't the machine and software that measured the session: Python: 3.11 → 3.12"
    )
    async with opened(story.path) as seen:
        await seen.press(*FIRST_CASE)
        assert "case 1 has no profile: x.json: this isn't the machine" in " ".join((await why(seen)).split())
        text = " ".join((await press(seen, "n", "n")).split())
        assert "ran out of memory: nothing to explain" in text


class FakeTrial:
    """An engine that has measured the remedies as soon as it starts."""

    def __init__(self, make_story: Any, folder: Any) -> None:
        self._make_story = make_story
        self._folder = folder
        self.started: list[Any] = []
        self.needed: tuple[Permission, ...] = ()

    def __call__(self, sweep: Any, path: Any, consent: Consent, **options: Any) -> Any:
        if self.needed and not keys(self.needed) <= consent:
            raise PermissionNeededError(self.needed)
        self.started.append(sweep)
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[]")
        return self

    def alive(self) -> bool:
        return False


async def test_remedies_are_tried_and_join_the_session(
    story: Any, opened: Any, profiling: FakeProfiling, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """The engine's session and the joined one are played; what is measured is the sweep that was started."""
    slow = explained(0)
    assert slow.profile is not None
    event = replace(slow, profile=replace(slow.profile, threads=1))
    write(story, event)
    fake = FakeTrial(story, tmp_path)
    monkeypatch.setattr(client, "start", fake)
    monkeypatch.setattr(client, "find", lambda path: None)
    joined: list[Any] = []
    whole = Session.load(story.path, metrics)
    base = whole.cases[0]
    faster = replace(base.config, threads=2)
    tried = CaseAdded(t=story.t, case=3, config=faster, why="joined", of=None)
    whole.apply_all([tried, CaseFinished(t=story.t, case=3, outcome="oom", reason="no room")])
    join = lambda path, other, measured: joined.append((path, other)) or True  # noqa: E731
    monkeypatch.setattr("benchtui.sessions.compare.joined.join_follow_up", join)
    monkeypatch.setattr(explainer.Session, "load", lambda path, summarize=None: whole)
    async with opened(story.path) as seen:
        await seen.press(*FIRST_CASE)
        await why(seen)
        await press(seen, "T")
        await seen.until(lambda: seen.app.screen.draw() or "tried threads=2" in seen.text)
        assert "tried threads=2: out of memory (no room), predicted " in " ".join(seen.text.split())
        assert [path for path, _ in joined] == [story.path]
        assert [config.threads for config in included_configs(fake.started[0])] == [0, 2]
        text = await press(seen, "T")
        assert "No remedy was tried: no finding has an option as its remedy that wasn't measured" in text


async def test_running_sweep_explains_later(story: Any, engine: Any, opened: Any) -> None:
    asked: list[int] = []
    engine.explain = asked.extend
    story.begin(gpus=0, device="cpu").case(0, 28.5).start(1)
    async with opened(story.path, engine) as seen:
        await seen.press("g")
        text = await why(seen)
        assert asked == [0] and "waits until all cases of the sweep are measured" in text


async def test_why_asks_and_profiles_only_after_yes(story: Any, opened: Any, profiling: FakeProfiling) -> None:
    write(story)
    profiling.needed = (Permission(kind="code", name="/elsewhere/evil.py", value="make"),)

    async def asked(seen: Any) -> str:
        await seen.until(lambda: isinstance(seen.app.screen, PermissionScreen))
        await seen.pilot.pause()
        return str(seen.text)

    async with opened(story.path) as seen:
        await seen.press(*FIRST_CASE, "W")
        assert "run function make of /elsewhere/evil.py" in await asked(seen)
        await seen.press("escape")
        assert profiling.asked == [0] and profiling.consent == NO_CONSENT
        seen.app.screen.draw()
        await seen.pilot.pause()
        assert "not allowed on this machine yet: run function make of /elsewhere/evil.py" in seen.text
        await seen.press("r")
        await asked(seen)
        await seen.press("y")
        await seen.until(lambda: "matrix products" in seen.text)
        assert profiling.asked == [0, 0, 0] and profiling.consent == keys(profiling.needed)


def test_families_of_one_step_have_different_colors() -> None:
    colors = dict(_COLORS)
    assert colors.pop("collective") == colors["compile"]  # never in one step
    assert len(set(colors.values())) == len(colors)
    assert "warning" not in colors.values()  # the amber of attention
