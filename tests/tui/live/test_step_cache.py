"""Step cache: which steps and readings of a session stay in memory."""

from collections.abc import Callable
from typing import Any

import pytest

from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import UNICODE
from benchtui.tui.live import step_cache
from benchtui.tui.live.feed import Feed
from benchtui.tui.model.case_rows import CaseRows
from benchtui.tui.replay.feed import Replay
from benchtui.tui.table.columns import KEYS

STEPS = 50


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_cache, "ALWAYS_KEPT_STEPS", 20)
    monkeypatch.setattr(step_cache, "MOST_STEPS", 3 * STEPS)
    monkeypatch.setattr(step_cache, "POSITION_SPACING_BYTES", 500)


async def all_done(feed: Feed) -> None:
    while feed.cache.has_pending_work:
        await feed.cache.run_pending()


@pytest.fixture
def read(story: Any, clock: Any) -> Callable[..., Feed]:
    """Return a function that reads the story to its end in batches of a few lines."""

    def read_all(kind: type[Feed] = Feed) -> Feed:
        feed = kind(story.path, None, clock)
        feed.poll()
        while not feed.caught_up:
            feed.poll()
        return feed

    return read_all


def five(story: Any) -> Any:
    story.begin(batch_sizes=(1, 2, 4, 8, 16))
    for case in range(5):
        story.case(case, 10.0 + case, STEPS)
    return story


async def test_a_replay_evicts_no_steps(story: Any, clock: Any) -> None:
    five(story).end()
    replay = Replay(story.path, None, clock)
    replay.poll()
    await all_done(replay)
    assert all(case.steps_in_memory for case in replay.timeline.whole.cases)
    replay.close()


async def test_rows_are_unchanged_after_steps_are_evicted(story: Any, read: Any) -> None:
    five(story)
    feed, whole = read(), Session.load(story.path)
    await all_done(feed)
    row_sets = [CaseRows(session, UNICODE) for session in (feed.session, whole)]
    for case_rows, session in zip(row_sets, (feed.session, whole), strict=True):
        case_rows.refresh(session.cases)
    for index in range(5):
        rows = [case_rows.row(index) for case_rows in row_sets]
        assert rows[0].case == rows[1].case and rows[0].lead == rows[1].lead
        assert all(rows[0].cells[key] == rows[1].cells[key] for key in KEYS if key != "trace")
        assert bool(rows[0].cells["trace"][0]) is feed.session.cases[index].steps_in_memory
        cases = feed.session.cases[index], whole.cases[index]
        figures = [case_rows.metrics(case) for case_rows, case in zip(row_sets, cases, strict=True)]
        assert figures[0].n == figures[1].n
        assert (figures[0].step_ms, figures[0].p99_ms) == (figures[1].step_ms, figures[1].p99_ms)
        assert figures[0].rate == pytest.approx(figures[1].rate)
        parts = [case_rows.parts(case) for case_rows, case in zip(row_sets, cases, strict=True)]
        assert [part.name for part in parts[0]] == [part.name for part in parts[1]]
        assert [part.mean_ms for part in parts[0]] == pytest.approx([part.mean_ms for part in parts[1]])
        assert row_sets[0].rate(cases[0]) == pytest.approx(row_sets[1].rate(cases[1]))
    feed.close()


async def test_viewing_a_case_reloads_its_steps(story: Any, read: Any) -> None:
    five(story)
    feed, whole = read(), Session.load(story.path)
    await all_done(feed)
    for index in (2, 0):
        case = feed.session.cases[index]
        assert feed.cache.get(case, feed.session.machine) is None
        await all_done(feed)
        loaded = feed.cache.get(case, feed.session.machine)
        assert loaded is not None
        assert loaded.case.measured == whole.cases[index].measured
        assert loaded.case.warmup == whole.cases[index].warmup
        assert not case.steps_in_memory
    feed.close()


async def test_a_missing_file_is_reported_once_and_not_retried(story: Any, read: Any) -> None:
    five(story)
    feed = read()
    await all_done(feed)
    story.path.unlink()
    case = feed.session.cases[0]
    feed.cache.get(case, feed.session.machine)
    await all_done(feed)
    assert "can't be read" in feed.cache.problem
    loaded = feed.cache.get(case, feed.session.machine)
    assert loaded is not None and not len(loaded.case.measured) and feed.cache.idle
    feed.close()


async def test_a_very_long_case_shows_metrics_once_computed(
    story: Any, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("step_cache", "step_statistics", "case_verdicts"):
        monkeypatch.setattr(f"benchtui.tui.live.{module}.THREAD_STEPS", 40)
    five(story)
    feed = read()
    case_rows = CaseRows(feed.session, UNICODE)
    case_rows.refresh(feed.session.cases)
    last = feed.session.cases[4]
    assert case_rows.row(4).cells["p50"][0] == "–" and case_rows.metrics(last) is None
    await all_done(feed)
    assert case_rows.row(4).cells["p50"][0] == "14.0" and last.steps_in_memory
    feed.close()


def half_a_minute(story: Any) -> Any:
    """Write three cases with ten seconds of readings each."""
    story.begin()
    for case in range(3):
        story.start(case).prepare(case)
        begin_s = story.t
        for _ in range(10):
            story.telemetry()
        story.steps(case, [10.0] * STEPS).finish(case, measured_s=(begin_s, begin_s + 9.9))
    return story


@pytest.fixture
def few_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_cache, "MOST_READINGS", 400)
    monkeypatch.setattr(step_cache, "LEAST_READINGS_S", 5.0)
    monkeypatch.setattr("benchtui.tui.live.feed.BATCH_BYTES", 1000)


@pytest.mark.usefixtures("few_readings")
async def test_the_newest_readings_stay_in_memory(story: Any, read: Any) -> None:
    half_a_minute(story)
    feed, whole = read(), Session.load(story.path)
    machine, gpu = feed.session.machine, whole.machine.gpus[0]
    held = feed.session.machine.gpus[0]
    assert (
        sum(trace.numbers for trace in machine.traces)
        < sum(trace.numbers for trace in whole.machine.traces) / 2
    )
    assert 5 <= machine.newest_s - machine.readings_from_s < 15
    assert held.at_s and held.at_s == gpu.at_s[-len(held.at_s) :] and held.at_s[0] >= machine.readings_from_s
    for name, column in held.columns.items():
        assert column == gpu.columns[name][-len(column) :] and len(column) == len(held.at_s)
    feed.close()


@pytest.mark.usefixtures("few_readings")
async def test_thermal_throttling_is_kept_and_a_cap_is_evicted(story: Any, read: Any) -> None:
    story.begin().start(0).prepare(0)
    for reasons in ("sw_power_cap", "sw_power_cap+hw_thermal", "", *["sw_power_cap", ""] * 15):
        story.telemetry(throttle=reasons)
    feed, (told,) = read(), Session.load(story.path).machine.throttle_spans.values()
    (held,) = feed.session.machine.throttle_spans.values()
    assert held == [
        span for span in told if span.throttled or span.end_s >= feed.session.machine.readings_from_s
    ]
    assert held[0].reasons == "sw_power_cap+hw_thermal" and 2 < len(held) < len(told) / 2
    feed.close()


@pytest.mark.usefixtures("few_readings")
async def test_viewing_a_case_reloads_its_readings(story: Any, read: Any) -> None:
    half_a_minute(story)
    feed, whole = read(), Session.load(story.path)
    await all_done(feed)
    case = feed.session.cases[0]
    feed.cache.get(case, feed.session.machine)
    await all_done(feed)
    loaded = feed.cache.get(case, feed.session.machine)
    assert loaded is not None
    begin_s, end_s = case.finished.measured_s
    for name in ("power_w", "temperature_c"):
        again, kept = (
            machine.gpus[0].between(name, begin_s, end_s) for machine in (loaded.machine, whole.machine)
        )
        assert again == kept != []
    feed.close()


@pytest.mark.usefixtures("few_readings")
async def test_the_case_screen_shows_evicted_readings(story: Any, opened: Any) -> None:
    half_a_minute(story).end()
    async with opened(story.path) as seen:
        await seen.press("home")
        await seen.press("enter", "tab", "tab", "tab")
        while "reloading its readings" in seen.text:
            await seen.look()
        assert "power W" in seen.text and "40 readings" in seen.text
