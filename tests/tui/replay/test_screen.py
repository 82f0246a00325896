"""Replay screen: the Monitor at each position, and each key of the transport line."""

from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.state.session import Session
from benchtui.tui.case.screen import CaseScreen
from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.replay.feed import Replay
from benchtui.tui.replay.player import ReplayTarget, Start
from benchtui.tui.replay.screen import ReplayMonitor
from benchtui.tui.shell.navigation import ExitReason
from benchtui.tui.shell.terminal import TerminalHandle
from benchtui.tui.widgets.frame import Frame


@pytest.fixture
def recorded(story: Any) -> Path:
    """51 s: case 1 from 9 to 10.4 s, case 2 out of memory from 20 to 21 s, case 3 measured from 30 to 40 s."""
    story.begin().wait(9.0).case(0, 20.0, 18, "random weights").telemetry()
    story.wait(20.0 - story.t).start(1).wait(1.0).finish(1, "oom", reason="full")
    story.wait(1.0).say("case 2 ran out of memory", "warning")
    story.wait(1.0).start(2).wait(7.0).prepare(2).steps(2, [100.0, 50.0], "warmup")
    for _ in range(20):
        story.steps(2, [50.0] * 10)
    made: Path = story.finish(2).wait(10.0).end().path
    return made


def moments(path: Path) -> list[float]:
    replay = Replay(path, None, lambda: 0.0)
    replay.poll()
    found = list(replay.timeline.moments)
    replay.close()
    return found


def end_of(path: Path) -> float:
    return Session.load(path).now_s


async def test_a_replay_starts_playing_from_the_beginning(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start()) as seen:
        assert isinstance(seen.app.screen, ReplayMonitor)
        assert seen.panel("transport")[0].startswith("▶ playing    1x  0:00.0 /")
        assert "0/3 cases" in seen.panel("heading")[0]
        seen.clock.now_s += 11.5
        await seen.look()
        assert "1/3 cases" in seen.panel("heading")[0]
        assert "✓ ok" in seen.table[0]
        assert "queued" in seen.table[1] and "queued" in seen.table[2]


async def test_a_replay_announces_nothing_and_its_title_is_the_name(
    recorded: Path, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    for name in ("set_title", "notify"):
        monkeypatch.setattr(TerminalHandle, name, lambda link, text: sent.append(text))
    async with opened(recorded, start=Start()) as seen:
        for target in (100, 20, 100):
            seen.app.screen.feed.seek_to(ReplayTarget(percent=target))
            await seen.look()
    assert sent == ["trial - benchtui"]


async def test_a_case_is_shown_as_it_ran(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start(target=ReplayTarget(seconds=35.0))) as seen:
        assert "running" not in seen.panel("heading")[0] and "left" in seen.panel("heading")[0]
        assert seen.panel("current")[1].startswith("measuring")
        assert "▲ oom" in seen.table[1] and "▶ 90/90" in seen.table[2]
        assert any("▄" in row or "█" in row for row in seen.panel("band"))
        assert "330/400W" in seen.panel("gauges")[1]


async def test_the_time_left_comes_from_the_recording(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start(target=ReplayTarget(seconds=31.5))) as seen:
        left = round(end_of(recorded) - 31.5)
        assert seen.panel("heading")[0].endswith(f" {left} s left")


async def test_seeking_back_restores_the_earlier_state(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start()) as seen:
        pictures = {}
        await seen.press("space")
        for key in "0369":
            await seen.settle(f"alt+{key}")
            pictures[key] = seen.text
        for key in "9630":
            await seen.settle(f"alt+{key}")
            assert seen.text == pictures[key]
        assert len(set(pictures.values())) == 4


async def test_space_pauses_and_resumes(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start()) as seen:
        seen.clock.now_s += 5
        await seen.press("space")
        assert seen.panel("transport")[0].startswith("■ paused     1x  0:05.0")
        seen.clock.now_s += 5
        await seen.look()
        assert "0:05.0" in seen.panel("transport")[0]
        await seen.press("space")
        seen.clock.now_s += 1
        await seen.look()
        assert seen.panel("transport")[0].startswith("▶ playing    1x  0:06.0")


async def test_brackets_step_between_recorded_moments(recorded: Path, opened: Any) -> None:
    at_s = moments(recorded)
    async with opened(recorded, start=Start()) as seen:
        replay = seen.app.views.feed
        shown = []
        for key in ("]", "]", "["):
            seen.clock.now_s += 1
            await seen.press(key)
            shown.append(replay.now_s)
        assert shown[0] > 1.0 and shown[1] > shown[0]
        assert shown[2] == shown[0] and set(shown) <= set(at_s)
        assert "paused" in seen.panel("transport")[0]


async def test_braces_jump_between_events_and_name_them(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start()) as seen:
        await seen.press("space")
        told = []
        for key in "}}}}}}}}{{":
            await seen.press(key)
            told.append(seen.panel("log")[-1])
        assert [line.split("  ")[1] for line in told[:7]] == [
            "case 1 of 3 starts",
            "case 1 of 3 ok",
            "case 2 of 3 starts",
            "case 2 of 3 oom: full",
            "case 2 ran out of memory",
            "case 3 of 3 starts",
            "case 3 of 3 ok",
        ]
        assert told[7] == "no event after this moment"
        assert "case 3 of 3 starts" in told[8] and "case 2 ran out of memory" in told[9]


async def test_jumping_before_the_first_event_is_reported(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start()) as seen:
        await seen.press("{")
        assert seen.panel("log")[-1] == "no event before this moment"


async def test_angle_brackets_change_the_speed(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start()) as seen:
        await seen.press(">")
        await seen.press(">")
        assert "  4x  " in seen.panel("transport")[0]
        for _ in range(4):
            await seen.press("<")
        assert " 0.25x  " in seen.panel("transport")[0]
        seen.clock.now_s += 8
        await seen.look()
        assert "0:02.0" in seen.panel("transport")[0]


async def test_dollar_goes_to_the_end_with_its_answer(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start()) as seen:
        await seen.press("space", "$")
        await seen.settle()
        assert seen.app.views.feed.now_s == end_of(recorded)
        assert "at end" in seen.panel("transport")[0] and "★" in seen.panel("answer")[0]


@pytest.mark.parametrize("key", "0123456789")
async def test_alt_and_a_digit_seek_to_tenths_of_the_recording(recorded: Path, opened: Any, key: str) -> None:
    async with opened(recorded, start=Start(target=ReplayTarget(percent=33.0))) as seen:
        await seen.press("space", f"alt+{key}")
        assert isinstance(seen.app.screen, ReplayMonitor)
        assert seen.app.views.feed.now_s == pytest.approx(end_of(recorded) * int(key) / 10)


@pytest.mark.parametrize(
    ("typed", "at_s"),
    [("15", 15.0), ("0:35", 35.0), ("50%", None), ("case 1", 9.0)],
    ids=["s", "m", "%", "case"],
)
async def test_g_prompts_for_a_position(recorded: Path, opened: Any, typed: str, at_s: float | None) -> None:
    async with opened(recorded, start=Start()) as seen:
        await seen.press("space", "ctrl+g")
        await seen.pilot.pause()
        await seen.press(*typed, "enter")
        assert seen.app.views.feed.now_s == pytest.approx(end_of(recorded) / 2 if at_s is None else at_s)
        await seen.press("alt+3")
        assert seen.app.views.feed.now_s == pytest.approx(end_of(recorded) * 0.3)


@pytest.mark.parametrize(
    ("typed", "said"),
    [("soon", "'soon' is not a position"), ("case 9", "case 9 never started; the session has 3 cases")],
)
async def test_an_invalid_position_is_reported(recorded: Path, opened: Any, typed: str, said: str) -> None:
    async with opened(recorded, start=Start()) as seen:
        await seen.press("space", "ctrl+g")
        await seen.pilot.pause()
        await seen.press(*typed, "enter")
        assert said in seen.panel("log")[-1]
        assert seen.app.views.feed.now_s == 0.0


async def test_esc_closes_the_prompt_then_leaves_the_replay(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start()) as seen:
        await seen.press("ctrl+g")
        await seen.press("1", "escape")
        assert seen.app.views.feed.now_s == 0.0 and isinstance(seen.app.screen, ReplayMonitor)
        await seen.press("down", "escape")
        assert isinstance(seen.app.screen, ReplayMonitor)
        await seen.press("escape")
        await seen.look()
        assert type(seen.app.screen) is Monitor
        assert "completed" in seen.panel("heading")[0]


async def test_esc_returns_to_the_running_sweep(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0).start(1)
    async with opened(story.path, engine, start=Start()) as seen:
        assert "0/3 cases" in seen.panel("heading")[0]
        await seen.press("escape")
        await seen.look()
        assert type(seen.app.screen) is Monitor
        assert "1/3 cases" in seen.panel("heading")[0] and "x skip" in seen.panel("keys")[0]


async def test_R_replays_the_open_session(recorded: Path, opened: Any) -> None:
    async with opened(recorded) as seen:
        assert "R replay" in seen.panel("keys")[0]
        await seen.press("R")
        await seen.look()
        assert isinstance(seen.app.screen, ReplayMonitor)
        assert "0/3 cases" in seen.panel("heading")[0]


async def test_parentheses_and_digits_switch_views_and_the_replay_keeps_its_position(
    recorded: Path, opened: Any
) -> None:
    async with opened(recorded, start=Start(target=ReplayTarget(seconds=35.0))) as seen:
        await seen.press("space", ")")
        assert "▸3 Charts" in seen.panel("places")[0]
        await seen.press("2")
        assert "▸2 Monitor" in seen.panel("heading")[1]
        assert "0:35.0" in seen.panel("transport")[0]
        await seen.press("(")
        assert "▸1 Sweep" in seen.panel("places")[0]


async def test_panels_zoom_as_in_the_monitor_and_esc_unzooms_first(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start(target=ReplayTarget(seconds=35.0))) as seen:
        await seen.press("z")
        assert seen.panel("zoom")[0].startswith("Step times")
        assert seen.panel("keys")[0].split()[:2] == ["z", "back"]
        await seen.press("tab")
        assert seen.panel("zoom")[0].startswith("Machine")
        await seen.press("escape")
        assert "playing" in seen.panel("transport")[0] and "space play/pause" in seen.panel("keys")[0]


async def test_playback_stops_at_the_end_and_space_restarts_it(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start(speed=64.0)) as seen:
        seen.clock.now_s += 10
        await seen.look()
        assert seen.panel("transport")[0].startswith("■ at end")
        assert "completed" in seen.panel("heading")[0]
        assert seen.app.screen.query_one("#verdict", Frame).title_text().startswith("completed  2 ok · 1 oom")
        await seen.press("space")
        assert seen.panel("transport")[0].startswith("▶ playing   64x  0:00.0")
        assert "0/3 cases" in seen.panel("heading")[0]


async def test_the_selected_case_stays_selected_after_seeking(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start(target=ReplayTarget(seconds=35.0))) as seen:
        await seen.press("space", "G")
        assert "case 3 of 3" in seen.panel("current")[0]
        await seen.press("alt+1")
        assert "case 3 of 3" in seen.panel("current")[0] and "queued" in seen.panel("current")[1]
        await seen.press("enter")
        assert isinstance(seen.app.screen, CaseScreen)


async def test_the_palette_lists_transport_actions_and_no_live_ones(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start()) as seen:
        names = {command.title for command in seen.app.palette_commands.of(seen.app.screen)}
        assert {"Play or pause", "Next event", "Play faster", "Go to 30 %", "Next tab"} <= names
        assert not names & {"Detach", "Stop the sweep", "Skip the case that runs", "Freeze the display"}


async def test_q_quits_immediately_and_returns_the_session(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start(target=ReplayTarget(seconds=35.0))) as seen:
        await seen.press("q")
    assert seen.exit_reason == ExitReason("closed", recorded)


async def test_quitting_from_another_view_does_not_ask(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start(target=ReplayTarget(seconds=35.0))) as seen:
        await seen.press(")", "q")
        await seen.pilot.pause()
    assert seen.exit_reason == ExitReason("closed", recorded)


async def test_an_unreachable_start_position_is_reported(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start(target=ReplayTarget(case=7))) as seen:
        assert "case 7 never started" in seen.panel("log")[-1]
        assert "0/3 cases" in seen.panel("heading")[0]


async def test_a_cut_off_recording_ends_as_cut_off(story: Any, opened: Any) -> None:
    story.begin().case(0).start(1).wait(5.0).prepare(1).steps(1, [10.0] * 5)
    async with opened(story.path, start=Start()) as seen:
        await seen.press("alt+9")
        assert "running" not in seen.panel("log")[-1] and "left" in seen.panel("heading")[0]
        seen.clock.now_s += 100
        await seen.look()
        assert "crashed" in seen.panel("heading")[0]
        assert any("incomplete" in row for row in seen.table)


async def test_a_resume_is_an_event_to_jump_to(story: Any, opened: Any) -> None:
    story.begin().case(0).start(1).wait(5.0).prepare(1).steps(1, [50.0] * 10).wait(1.0)
    story.finish(1, "interrupted").finish(2, "interrupted").end("interrupted")
    cut_s = story.t
    story.resume(1, 2).wait(5.0).case(1).case(2).end()
    async with opened(story.path, start=Start(target=ReplayTarget(percent=100))) as seen:
        assert "3/3 cases" in seen.panel("heading")[0] and "completed" in seen.panel("heading")[0]
        assert all("✓ ok" in row for row in seen.table[:3])
        said = ""
        while "resumed" not in said:
            await seen.press("left_curly_bracket")
            said = seen.panel("log")[-1]
        assert "resumed: 2 of 3 cases left, 2 restart" in said
        assert seen.app.screen.feed.now_s == pytest.approx(cut_s)
        assert "1/3 cases" in seen.panel("heading")[0]
        assert "queued" in seen.table[1] and "queued" in seen.table[2]
        await seen.press("left_square_bracket")
        assert "▶ 10/20" in seen.table[1], "a moment before, its steps were there"
        await seen.press("alt+9", "space")
        seen.clock.now_s += 100
        await seen.look()
        assert all("✓ ok" in row for row in seen.table[:3])


async def test_a_broken_line_ends_the_replay_with_an_error(story: Any, opened: Any) -> None:
    story.begin().case(0)
    with story.path.open("ab") as file:
        file.write(b"what is this\n")
    async with opened(story.path, start=Start()) as seen:
        seen.clock.now_s += 100
        await seen.look()
        assert "line 8: not a session event" in " ".join(seen.panel("log"))
        assert "✓ ok" in seen.table[0]


async def test_outliers_are_events(story: Any, opened: Any) -> None:
    story.begin().start(0).prepare(0)
    for batch in range(10):
        story.steps(0, [10.0 + step / 100 for step in range(10)] + ([90.0] if batch == 5 else []))
    story.finish(0).wait(1.0).end()
    async with opened(story.path, start=Start()) as seen:
        await seen.press("space")
        await seen.look()
        await seen.press("}")
        assert "case 1 of 3 has an outlier step" in seen.panel("log")[-1]
        assert "▶ 61/61" in seen.table[0]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_the_transport_line_is_visible_at_every_size(
    recorded: Path, opened: Any, size: tuple[int, int]
) -> None:
    async with opened(recorded, start=Start(target=ReplayTarget(seconds=35.0)), size=size) as seen:
        lines = seen.text.splitlines()
        assert any("playing" in line and "0:35.0" in line and "2026-11-21" in line for line in lines)
        assert lines[-1].strip().startswith("space")


async def test_click_on_the_transport_line_seeks(recorded: Path, opened: Any) -> None:
    async with opened(recorded, start=Start()) as seen:
        await seen.press("space")
        line = seen.panel("transport")[0]
        start = line.index("─")
        await seen.pilot.click("#transport", offset=(start + line.count("─") // 2, 0))
        assert seen.app.views.feed.now_s == pytest.approx(end_of(recorded) / 2, rel=0.05)
