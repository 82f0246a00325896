"""Monitor screen on generated sessions: each state, and each key."""

import asyncio
import re
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.events import Idle, Runtime
from benchtui.sessions.payloads import Gpu
from benchtui.tui.case.screen import CaseScreen
from benchtui.tui.live import feed
from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.pages.page import Page
from benchtui.tui.pages.palette import Palette
from benchtui.tui.panels.case_table import CaseTable
from benchtui.tui.replay.screen import ReplayMonitor
from benchtui.tui.shell.navigation import ExitReason, Opened
from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.shell.settings import Settings
from benchtui.tui.shell.terminal import TerminalHandle
from benchtui.tui.widgets.frame import Frame


async def test_a_starting_session_shows_its_plan(story: Any, engine: Any, opened: Any) -> None:
    story.begin()
    async with opened(story.path, engine) as seen:
        assert seen.panel("current")[0] == "3 cases"
        assert seen.panel("current")[1].startswith("starting ")
        assert [row.split()[-1] for row in seen.table] == ["queued"] * 3
        assert "0/3 cases" in seen.panel("heading")[0]
        assert "the machine is observed before the first case" in "".join(seen.panel("band"))
        story._add(Idle(t=story.t, window_s=2.0))
        await seen.look()
        assert "torch is being loaded" in "".join(seen.panel("band"))
        story._add(Runtime(t=story.t, torch="2.11.0"))
        await seen.look()
        assert "the peak rates of the devices are measured" in "".join(seen.panel("band"))


async def test_an_empty_session_file_shows_a_message(story: Any, engine: Any, opened: Any) -> None:
    async with opened(story.path, engine) as seen:
        assert seen.panel("log")[-1] == "starting the engine"
        await seen.press("down", "x", "enter", "space", "space")
        assert seen.app.is_running


async def test_a_key_waits_until_a_case_has_been_read(
    story: Any, engine: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, batch_bytes = feed.Tail.read, feed.BATCH_BYTES

    def read_plan(tail: feed.Tail, most_bytes: int) -> list[Any]:
        events = read(tail, most_bytes)
        if events:
            monkeypatch.setattr(feed, "BATCH_BYTES", 0)
        return events

    story.begin()
    monkeypatch.setattr(feed, "READ_BUDGET_S", -1.0)
    monkeypatch.setattr(feed, "BATCH_BYTES", story.path.stat().st_size)
    monkeypatch.setattr(feed.Tail, "read", read_plan)
    story.case(0)
    async with opened(story.path, engine) as seen:
        monitor = seen.app.screen
        assert isinstance(monitor, Monitor)
        while monitor.view is None:
            await seen.pilot.pause(0.001)
        assert monitor.feed.reading
        pressed = asyncio.ensure_future(seen.press("enter"))
        await seen.pilot.pause(0.05)
        assert seen.app.screen is monitor
        monkeypatch.setattr(feed.Tail, "read", read)
        monkeypatch.setattr(feed, "BATCH_BYTES", batch_bytes)
        await pressed
        while not isinstance(seen.app.screen, CaseScreen):
            await seen.pilot.pause(0.01)


async def test_a_key_acts_on_what_has_been_read_even_if_the_terminal_is_too_slow_to_draw_it(
    story: Any, engine: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TerminalHandle, "congested", True)
    story.begin().case(0)
    async with opened(story.path, engine) as seen:
        await seen.press("enter")
        assert isinstance(seen.app.screen, CaseScreen)


async def test_a_closed_monitor_reads_no_more(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0)
    async with opened(story.path, engine) as seen:
        monitor = seen.app.screen
        assert isinstance(monitor, Monitor)
        monitor._timers.clear()  # as if they had been started while Textual stopped all timers
        seen.app.post_message(Opened(story.path, engine, replay=True))
        while not isinstance(seen.app.screen, ReplayMonitor):
            await seen.pilot.pause(0.01)
        monitor.tick()
        assert seen.app.is_running


async def test_phases_are_shown(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        assert seen.panel("current")[1].startswith("loading model")
        story.prepare(0, "random weights")
        await seen.look()
        assert seen.panel("current")[1].startswith("first step")
        assert "⚑ random weights" in seen.panel("heading")[1]
        story.steps(0, [20.0], "warmup")
        await seen.look()
        assert seen.panel("current")[1].startswith("warm-up        1/2")
        story.steps(0, [12.0], "warmup").steps(0, [10.0, 10.1])
        await seen.look()
        assert seen.panel("current")[1].startswith("measuring       2/20")
        assert "▶ 2/20" in seen.table[0]


async def test_the_plot_belongs_to_the_case_in_the_heading(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0)
    async with opened(story.path, engine) as seen:
        assert "bs 1" in seen.panel("current")[0] and "ok" in seen.panel("current")[1]
        assert any(row.startswith("p50 10.0 ms") for row in seen.panel("band"))
        story.start(1)
        await seen.look()
        assert "bs 2" in seen.panel("current")[0]
        assert [row.strip() for row in seen.panel("band") if row.strip()] == [
            "no steps yet: the model is loading"
        ]
        assert "".join(seen.panel("parts")).strip() == "no measured steps with parts"
        story.prepare(1)
        await seen.look()
        assert seen.panel("band")[0] == "no steps yet: the first one is running"


async def test_rows_without_metrics_show_why(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2, 4, 8)).case(0).start(1).finish(1, "oom", reason="out of memory: 96 GB")
    story.finish(2, "skipped", reason="larger than a case that ran out of memory")
    story.start(3).finish(3, "failed", reason="worker killed by SIGKILL", signal="SIGKILL")
    async with opened(story.path, engine) as seen:
        rows = seen.table
        assert "▲ oom" in rows[1] and "out of memory: 96 GB" in rows[1]
        assert "○ skipped" in rows[2] and "larger than a case" in rows[2]
        assert "✗ failed" in rows[3] and "SIGKILL" in rows[3]


async def test_the_reason_of_a_case_without_steps_is_shown_in_full(story: Any, opened: Any) -> None:
    reason = "out of memory on cuda:0: tried to allocate 62.63 GiB, 55.14 GiB of 79.65 GiB are free; use less"
    story.begin().case(0).case(1).start(2).finish(2, "oom", reason=reason).end()
    async with opened(story.path, size=(120, 40)) as seen:
        await seen.settle("G")
        assert f"no steps: {reason}; enter: case details" in " ".join(" ".join(seen.panel("band")).split())


async def test_selected_case_marks_its_own_gpu(story: Any, engine: Any, opened: Any) -> None:
    story.begin(gpus=2, device="cuda:0").start(0).prepare(0, gpu_uuid="GPU-1").telemetry(2).finish(0)
    story.start(1).prepare(1).telemetry(2)
    async with opened(story.path, engine) as seen:
        assert [row[0] for row in seen.panel("gauges")[1:3]] == ["▸", " "]
        await seen.press("k")
        assert [row[0] for row in seen.panel("gauges")[1:3]] == [" ", "▸"]


async def test_gauges_without_a_gpu_show_why_in_one_row(story: Any, engine: Any, opened: Any) -> None:
    story.begin(gpus=0, device="cpu").telemetry(0)
    async with opened(story.path, engine) as seen:
        rows = seen.panel("gauges")
        assert sum("no NVIDIA driver on this machine" in row for row in rows) == 1
        assert all(label in " ".join(rows) for label in ("host CPU", "host memory", "worker CPU", "worker RSS"))


async def test_heading_names_every_kind_of_gpu(
    story: Any, engine: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards = {index: Gpu(index=index, name="AABB"[index]) for index in range(4)}
    monkeypatch.setitem(story.begin.__globals__, "fake_gpu", cards.get)
    story.begin(gpus=4)
    async with opened(story.path, engine) as seen:
        assert "2 x A, 2 x B" in seen.panel("heading")[0]


async def test_gauges_of_an_ended_session_are_marked_as_old(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0).telemetry()
    async with opened(story.path, engine) as seen:
        frame = seen.app.screen.query_one("#machine", Frame)
        assert "last readings" not in frame.title_text()
        story.end()
        await seen.look()
        assert "last readings" in frame.title_text()


async def test_a_fault_in_the_advice_is_shown_and_does_not_end_the_app(
    story: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(session: Any) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("benchtui.sessions.advice.conclusion.conclude", fail)
    story.begin().case(0).case(1, 19.0).end()
    async with opened(story.path) as seen:
        await seen.settle()
        said = " ".join(seen.panel("answer"))
        assert "the answer can't be computed: ZeroDivisionError: division by zero" in said
        assert seen.app.is_running and "bs 1" in seen.table[0] + seen.table[1]


async def test_a_finished_session_shows_its_outcome_and_next_steps(story: Any, opened: Any) -> None:
    story.begin().case(0).case(1, 19.8).finish(2, "skipped", reason="no").end()
    async with opened(story.path) as seen:
        await seen.settle()
        assert verdict(seen) == "completed  2 ok · 1 skipped  in 3 s"
        answer = seen.panel("answer")
        assert answer[0].startswith(" ★ bs 1   99.8 samples/s   10.0 ms per step   ")
        assert any("M measure what is open   Y copy report" in line for line in answer)
        assert "bs 1" in seen.panel("current")[0]
        assert seen.panel("heading")[0].endswith("completed")
        await seen.press("q")
    assert seen.exit_reason == ExitReason("finished", story.path)


async def test_the_end_is_a_heatmap_with_the_rates_of_the_table(story: Any, opened: Any) -> None:
    story.begin(sequence_length=(32, 128), rounds=3)
    for index in range(6):
        story.case(index, 10.0 + 3 * index, rounds=3)
    async with opened(story.end().path) as seen:
        await seen.settle()
        rows = seen.app.screen.view.rows()
        rates = {rows.row(place).cells["samples"][0] for place in range(rows.count)}
        numbers = re.findall(r"[0-9.]{3,}", " ".join(seen.panel("map")[3:]))
        assert len(rates) == 6 and rates == set(numbers) - {"128"}
        assert "".join(seen.panel("map")).count("★") == sum("★" in row for row in seen.table) == 2
        await seen.press("down")
        assert not seen.app.screen.query_one("#heat").display, "a selected case shows its steps"


async def test_a_vanished_engine_is_reported(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0).start(1).prepare(1).steps(1, [10.0] * 5)
    async with opened(story.path, engine) as seen:
        assert "running" not in seen.panel("log")[-1]
        engine.is_alive = False
        seen.clock.now_s += 2
        await seen.look()
        word = "engine gone; benchtui run --resume trial continues the sweep"
        assert seen.panel("log")[-1].strip() == word
        await seen.settle()
        assert any("2 cases: benchtui run --resume trial" in line for line in seen.panel("answer"))
        assert any("r continue" in line for line in seen.panel("answer"))
        assert seen.panel("heading")[0].endswith("crashed")
        assert any("■ incomplete" in row for row in seen.table)
        await seen.press("q")
    assert seen.exit_reason == ExitReason("crashed", story.path)


async def test_session_text_cannot_control_the_terminal(story: Any, engine: Any, opened: Any) -> None:
    story.begin(name="\x1b[31mred\x1b]0;title\x07 [bold]b[/bold]").case(0, 10.0, 20, "\x1b[2J[link=x]mark")
    story.start(1).finish(1, "failed", reason="\x9b31m\r\n[/]boom\u202e").say(
        "\x1b]52;c;aGk=\x07[b]said", "error"
    )
    async with opened(story.path, engine) as seen:
        text = seen.text
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text.replace("\n", ""))
        assert "[bold]b[/bold]" in text and "[/]boom" in text and "[b]said" in text
        assert "\u202e" not in text


async def test_an_invalid_line_in_the_file_is_reported_without_a_crash(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin().case(0)
    async with opened(story.path, engine) as seen:
        with story.path.open("ab") as file:
            file.write(b'{"event":"steps","t":"nonsense"}\n')
        await seen.look()
        assert "line 8: not a session event" in " ".join(seen.panel("log"))
        assert "✓ ok" in seen.table[0]


@pytest.mark.parametrize("size", [(55, 20), (50, 15), (40, 3)])
async def test_a_small_terminal_shows_the_most_important_facts(
    story: Any, engine: Any, opened: Any, size: tuple[int, int]
) -> None:
    story.begin().telemetry().case(0).start(1).prepare(1).steps(1, [1300.0] * 7)
    async with opened(story.path, engine, size=size) as seen:
        for fact in ("trial", "1/3", "measuring", "7/20", "step 1,300 ms"):
            assert fact in seen.text
        await seen.press("q")
        assert "The sweep is running." in seen.text
        await seen.press("escape")
        await seen.pilot.resize_terminal(120, 40)
        await seen.look()
        assert "1 Sweep" in seen.text and "trial" in seen.text


async def test_quitting_a_running_sweep_offers_to_detach(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        await seen.press("q")
        assert "d: detach" in seen.panel("log")[-1]
        assert seen.panel("keys")[0].split() == ["d", "detach", "X", "stop", "esc", "back"]
        await seen.press("escape")
        assert "detach" not in seen.text
        await seen.press("q", "d")
    assert seen.exit_reason == ExitReason("detached", story.path)
    assert engine.commands == []


async def test_quit_and_stop_exits_once_the_engine_has_ended(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        await seen.press("q", "X")
        await seen.app.workers.wait_for_complete()
        assert engine.commands == ["stop"]
        assert seen.app.is_running
        story.finish(0, "interrupted", reason="stopped").end("interrupted")
        await seen.look()
    assert seen.exit_reason == ExitReason("stopped", story.path)


async def test_stop_asks_once_and_keeps_the_screen_open(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        await seen.press("X")
        assert "Stop the sweep?" in seen.panel("log")[-1]
        assert engine.commands == []
        await seen.press("y")
        await seen.app.workers.wait_for_complete()
        assert engine.commands == ["stop"]
        story.finish(0, "interrupted", reason="stopped").end("interrupted")
        await seen.look()
        assert seen.panel("heading")[0].endswith("interrupted")
        await seen.press("q")
    assert seen.exit_reason == ExitReason("stopped", story.path)


@pytest.mark.parametrize("asked", ["q", "X"])
async def test_only_answers_back_and_help_act_while_a_question_is_open(
    story: Any, engine: Any, opened: Any, asked: str
) -> None:
    story.begin().case(0).start(1)
    async with opened(story.path, engine) as seen:
        await seen.settle(asked, "x", "P", "g", "r", "G", "delete", "slash", "enter", "s")
        await seen.pilot.click("#table", offset=(5, 1))
        table_order = seen.app.screen.view.order
        assert engine.commands == [] and table_order.chosen is None and table_order.sorting is None
        assert "esc: back" in seen.panel("log")[-1]
        await seen.press("question_mark")
        assert isinstance(seen.app.screen, Page)
        await seen.settle("escape", "escape", "x")
        assert engine.commands == ["skip 1"]


async def test_a_question_about_a_sweep_closes_when_the_sweep_ends(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        await seen.press("q")
        story.finish(0).end()
        await seen.look()
        assert "esc: back" not in seen.text
        await seen.press("X")
        assert engine.commands == []
        await seen.press("q")
    assert seen.exit_reason == ExitReason("finished", story.path)


async def test_skip_sends_the_request_and_shows_a_message(story: Any, engine: Any, opened: Any) -> None:
    story.begin()
    async with opened(story.path, engine) as seen:
        await seen.press("x")
        assert seen.panel("log")[-1] == "no case is running"
        story.start(0)
        await seen.look()
        await seen.press("x")
        await seen.app.workers.wait_for_complete()
        assert engine.commands == ["skip 0"]
        assert seen.panel("log")[-1] == "skipping case 1; u: undo"


async def test_an_engine_error_is_shown(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    engine.error = "the engine doesn't answer"
    async with opened(story.path, engine) as seen:
        await seen.press("x")
        await seen.app.workers.wait_for_complete()
        await seen.look()
        assert seen.panel("log")[-1] == "the engine doesn't answer"
        seen.clock.now_s += 10
        await seen.look()
        assert "the engine doesn't answer" not in seen.text


async def test_freezing_stops_drawing_but_not_reading(story: Any, engine: Any, opened: Any) -> None:
    story.begin()
    async with opened(story.path, engine) as seen:
        await seen.press("space")
        assert "frozen" in seen.panel("heading")[1]
        story.case(0)
        await seen.look()
        assert "queued" in seen.table[0] or "0/3" in seen.panel("heading")[0]
        await seen.press("space")
        assert "1/3 cases" in seen.panel("heading")[0]
        assert "frozen" not in seen.panel("heading")[1]


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Window titles and notifications."""
    sent: list[str] = []
    for name in ("set_title", "notify"):
        monkeypatch.setattr(TerminalHandle, name, lambda link, text: sent.append(text))
    return sent


@pytest.mark.parametrize("key", ["4", "enter", "space"])
async def test_the_end_of_a_sweep_is_announced_from_every_screen(
    story: Any, engine: Any, opened: Any, announced: list[str], key: str
) -> None:
    story.begin().case(0).start(1)
    async with opened(story.path, engine) as seen:
        monitor = seen.app.screen
        await seen.press(key)
        story.finish(1).end()
        monitor.tick()
        assert announced[-2:] == ["trial: completed - benchtui", "benchtui: sweep trial completed"]


async def test_a_worker_that_ends_during_the_exit_draws_nothing(
    story: Any, engine: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.begin().case(0).start(1)
    drawn: list[bool] = []
    async with opened(story.path, engine) as seen:
        monitor = seen.app.screen
        leave = Monitor.on_unmount
        monkeypatch.setattr(Monitor, "on_unmount", lambda screen: [drawn.append(monitor.draw()), leave(screen)])
    assert drawn == [False]


async def test_the_title_is_shown_again_after_a_suspension(
    story: Any, engine: Any, opened: Any, announced: list[str]
) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        assert announced == ["0 % trial - benchtui"]
        seen.app.app_resume_signal.publish(seen.app)
        await seen.look()
        assert announced == ["0 % trial - benchtui"] * 2


async def test_the_selected_case_is_shown_in_the_upper_panels(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0, 10.0).case(1, 30.0).start(2)
    async with opened(story.path, engine) as seen:
        await seen.press("up")
        assert "bs 2" in seen.panel("current")[0] and "case 2 of 3" in seen.panel("current")[0]
        assert seen.table[1].startswith("▸")
        await seen.press("g")
        assert "bs 1" in seen.panel("current")[0]
        assert "step 10.0 ms" in seen.panel("current")[2]
        await seen.press("G")
        assert seen.table[2].startswith("▸")
        await seen.press("escape")
        assert not any(row.startswith("▸") for row in seen.table)


async def test_quiet_mode_is_the_default_on_two_processors(story: Any, engine: Any, opened: Any) -> None:
    story.begin(cpu_count=2).start(0)
    async with opened(story.path, engine) as seen:
        assert seen.panel("heading")[1].endswith("quiet, 1 Hz")
        await seen.press("Q")
        assert "quiet, 1 Hz" not in seen.panel("heading")[1]


async def test_the_command_palette_lists_every_action(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        titles = {command.title for command in seen.app.palette_commands.of(seen.app.screen)}
        assert {
            "Detach",
            "Stop the sweep",
            "Skip a running case",
            "Pause or resume the queue",
            "Filter cases",
            "Help",
            "Next theme",
        } <= titles
        await seen.press("colon")
        assert isinstance(seen.app.screen, Palette)
        story.case(1)
        await seen.press("escape")
        assert "✓ ok" in seen.table[1]


async def test_a_full_plan_can_be_shown_and_scrolled(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=tuple(range(1, 5_001))).case(0)
    async with opened(story.path, engine) as seen:
        assert "1/5000 cases" in seen.panel("heading")[0]
        await seen.press("G")
        assert "bs 5000" in seen.table[-1] and seen.table[-1].startswith("▸")
        await seen.press("g")
        assert "bs    1" in seen.table[0]


async def test_a_case_cut_short_keeps_its_metrics(story: Any, opened: Any) -> None:
    story.begin().start(0).prepare(0).steps(0, [10.0] * 8)
    async with opened(story.path) as seen:
        await seen.press("g")
        assert seen.panel("current")[1].startswith("incomplete")
        assert "step 10.0 ms" in seen.panel("current")[2]


async def test_columns_without_any_value_appear_with_the_first_one(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin(iterations=200).start(0).prepare(0).steps(0, [10.0] * 99)
    async with opened(story.path, engine) as seen:
        titles = seen.panel("header")[0].split()
        assert "step" in titles and not {"p99", "W", "memory"} & {*titles}
        story.steps(0, [10.0])
        await seen.look()
        assert "p99" in seen.panel("header")[0] and " W " not in seen.panel("header")[0]
        assert seen.table[0].split().count("10.0") == 2
        story.finish(0)
        await seen.look()
        assert {"p99", "W", "memory"} <= {*seen.panel("header")[0].split()}


async def test_selected_columns_stay_without_a_value(
    story: Any, engine: Any, opened: Any, app_context: Any
) -> None:
    story.begin(gpus=0)
    mine = replace(app_context, preferences=Preferences(Settings(columns=("power", "p99"))))
    async with opened(story.path, engine, app_context=mine) as seen:
        assert seen.panel("header")[0].split() == ["case", "W", "p99", "ms"]


async def test_a_stopped_sweep_counts_what_was_run(story: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2, 4, 8)).case(0).finish(1, "skipped").finish(2, "interrupted").end(
        "interrupted"
    )
    async with opened(story.path) as seen:
        assert "1/3 cases · 1 skipped" in seen.panel("heading")[0]
        assert "33 %" in seen.panel("heading")[0]


async def test_marks_of_one_kind_appear_once_in_the_heading(story: Any, engine: Any, opened: Any) -> None:
    marks = ("disturbed: other processes used 123% CPU", "disturbed: 1464 context switches per second")
    story.begin().start(0).prepare(0, *marks, "random weights")
    async with opened(story.path, engine) as seen:
        assert seen.panel("heading")[1].count("⚑") == 2
        assert "⚑ noisy" in seen.panel("heading")[1] and "disturbed" not in seen.panel("heading")[1]


def cases_title(seen: Any) -> str:
    title: str = seen.app.screen.query_one("#cases", Frame).title_text()
    return title


def verdict(seen: Any) -> str:
    title: str = seen.app.screen.query_one("#verdict", Frame).title_text()
    return title


async def test_a_running_sweep_says_what_is_best_so_far_and_what_is_next(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin(rounds=3).case(0, 10.0, rounds=3)
    async with opened(story.path, engine) as seen:
        await seen.settle()
        story.case(1, 10.0, rounds=3)
        await seen.look()
        await seen.settle()
        first, sure, *_, upcoming = [line for line in seen.panel("answer") if line]
        assert first.startswith(" ★ bs 2   200 samples/s   2.00x base (")
        assert "clearly ahead of the next" in sure
        assert upcoming.strip().startswith("next       bs 4: ")


async def test_the_answer_so_far_takes_a_line_on_a_short_screen(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0, 10.0).case(1, 19.8)
    async with opened(story.path, engine, size=(80, 24)) as seen:
        await seen.settle()
        assert verdict(seen) == "so far bs 1  99.8 samples/s  indistinguishable from 1 other"


async def test_a_sweep_in_which_everything_failed_is_red_and_says_why_once(story: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2))
    for case in (0, 1):
        story.start(case).finish(case, "failed", reason="no such folder")
    story.end()
    async with opened(story.path, size=(80, 24)) as seen:
        await seen.settle()
        assert verdict(seen).startswith("failed  2 failed")
        assert seen.panel("heading")[0].endswith("failed")
        said = " ".join(" ".join(seen.panel("answer")).split())
        assert "nothing was measured: 2 of 2 cases failed: no such folder" in said
        assert "e change and run again" in said


async def test_the_best_case_gives_way_to_a_hidden_sort_order(
    story: Any, engine: Any, opened: Any, app_context: Any
) -> None:
    story.begin(rounds=3).case(0, 10.0, rounds=3).case(1, 10.0, rounds=3)
    mine = replace(app_context, preferences=Preferences(Settings(columns=("p50",), sort="samples")))
    async with opened(story.path, engine, app_context=mine) as seen:
        assert cases_title(seen) == "cases [3]  sorted by samples/s ▴"


async def test_the_table_fills_its_height_after_it_grows_or_the_filter_is_cleared(
    story: Any, opened: Any
) -> None:
    story.begin(batch_sizes=tuple(range(1, 41)))
    for case in range(40):
        story.case(case)
    async with opened(story.end().path, size=(120, 30)) as seen:
        await seen.press("G")
        await seen.pilot.resize_terminal(120, 44)
        await seen.look()
        table = seen.app.screen.query_one(CaseTable)
        assert len(seen.table) == table.size.height and seen.table[-1].startswith("▸")
        await seen.press("slash", *"b1", "enter", "escape")
        await seen.look()
        assert len(seen.table) == table.size.height


async def test_the_filter_finds_both_spellings_of_a_case(story: Any, opened: Any) -> None:
    story.begin().case(0).case(1).case(2, 10.0, 20, "disturbed: other processes used 60% CPU").end()
    async with opened(story.path) as seen:
        for words, count in (("bs=4", 1), ("bs 4", 1), ("noisy", 1), ("seq 128", 3)):
            await seen.press("slash", *("space" if letter == " " else letter for letter in words), "enter")
            assert len(seen.table) == count, words
            await seen.press("escape")


async def test_drop_can_be_undone_for_five_seconds(story: Any, engine: Any, clock: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        await seen.settle("down", "delete", "u")
        assert engine.commands == ["drop [1]", "again 1", "order [9]"]
        await seen.settle("delete")
        clock.now_s += 6
        await seen.press("u")
        assert engine.commands[3:] == ["drop [1]"]
        assert seen.panel("log")[-1].startswith("nothing to undo")


async def test_skip_with_an_ended_case_selected_skips_no_other(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0).start(1)
    async with opened(story.path, engine) as seen:
        await seen.press("g", "x")
        assert engine.commands == []
        assert seen.panel("log")[-1] == "case 1 is not running: select a running case to skip it"


async def test_left_and_right_do_not_move_up_and_down(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0).start(1)
    async with opened(story.path, engine) as seen:
        await seen.press("left", "right", "h", "l")
        assert seen.app.screen.view.order.chosen is None


async def test_click_selects_a_case_sorts_and_a_double_click_opens_it(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin().case(0, 30.0).case(1, 10.0).start(2)
    async with opened(story.path, engine) as seen:
        await seen.pilot.click("#table", offset=(5, 1))
        assert seen.app.screen.view.order.chosen == 1
        at = seen.panel("header")[0].index("step")
        await seen.pilot.click("#header", offset=(at, 0))
        assert seen.app.screen.view.order.sorting.key == "p50"
        await seen.pilot.click("#header", offset=(at, 0))
        assert seen.app.screen.view.order.sorting.reverse
        await seen.double_click("#table", (5, 1))
        assert type(seen.app.screen).__name__ == "CaseScreen"
        await seen.pilot.click("#heading", offset=(seen.panel("heading")[1].index("Telemetry"), 1))
        assert "▸Telemetry" in seen.panel("heading")[1]


async def test_a_noisy_case_says_why_as_soon_as_it_is_selected(story: Any, engine: Any, opened: Any) -> None:
    mark = "disturbed: other processes used 120% CPU"
    story.begin().case(0).case(1, 10.0, 20, mark).start(2)
    async with opened(story.path, engine) as seen:
        await seen.press("g")
        assert seen.panel("current")[1] == "ok"
        await seen.press("down")
        assert seen.panel("current")[1].split(maxsplit=2) == ["⚑", "noisy", mark]
