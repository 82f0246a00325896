"""Keys of the Monitor: panels, table, prompts, engine requests, clipboard and export."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.library import paths
from benchtui.tui.monitor.dialogs import ColumnsPage
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import Opened
from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.shell.settings import Settings
from benchtui.tui.widgets.frame import Frame


def write_session(story: Any) -> None:
    """Write successful and failed cases, a running one, and two pending ones."""
    story.begin(batch_sizes=(1, 2, 4, 8, 16)).case(0, 30.0, 120).telemetry().case(1, 10.0, 120)
    story.start(2).finish(2, "oom", reason="out of memory").say("case 3 ran out of memory", "warning")
    story.start(3).prepare(3).steps(3, [20.0] * 2, "warmup").steps(3, [20.0 + n % 3 for n in range(8)])


async def test_zoom_fills_the_screen_and_tab_cycles_panels(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press("z")
        titles = []
        for _ in range(5):
            titles.append(seen.panel("zoom")[0] if not seen.app.screen.has_class("-tabled") else "table")
            assert "20.0" in seen.text or "Test GPU" in seen.text or "memory" in seen.text
            await seen.press("tab")
        assert [title.split("  ")[0] for title in titles] == [
            "Step times",
            "Machine",
            "Step breakdown",
            "table",
            "Log",
        ]
        await seen.press("shift+tab")
        assert seen.panel("zoom")[0].startswith("Log")
        assert "warning  case 3 ran out of memory" in seen.text
        await seen.press("escape")
        assert "bs 16" in seen.text and "Log" not in seen.text
        await seen.press("z")
        assert seen.panel("zoom")[0].startswith("Log")


async def test_tab_moves_the_focus_to_the_panel_that_zooming_enlarges(
    story: Any, engine: Any, opened: Any
) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        focused = []
        for _ in range(5):
            await seen.press("tab")
            focused += [frame.id for frame in seen.app.screen.query(Frame) if frame.has_class("-focused")]
        assert focused == ["case", "step", "cases", "machine", "case"]
        await seen.press("shift+tab", "z")
        assert seen.panel("zoom")[0].startswith("Machine")


async def test_an_empty_panel_shows_why(story: Any, engine: Any, opened: Any) -> None:
    story.begin()
    async with opened(story.path, engine) as seen:
        await seen.press("z", "shift+tab")
        for hint in ("no steps", "host", "no measured steps with parts", "case", "no engine messages yet"):
            await seen.press("tab")
            assert hint in seen.text


async def test_a_long_log_scrolls(story: Any, engine: Any, opened: Any) -> None:
    story.begin()
    for number in range(100):
        story.say(f"message {number}")
    async with opened(story.path, engine) as seen:
        await seen.press("z", "shift+tab")
        assert seen.panel("zoom")[-1].endswith("message 99")
        await seen.press("pageup")
        assert seen.panel("zoom")[-1].endswith("message 89")
        await seen.press("home")
        assert "message 0" in seen.text
        await seen.press("end")
        assert seen.panel("zoom")[-1].endswith("message 99")


async def test_sorting_keeps_the_running_case_on_top(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press("s", "s", "s")
        assert "▴step ms" in seen.panel("header")[0]
        assert [re.search(r"bs +(\d+)", row)[1] for row in seen.table] == ["8", "2", "1", "4", "16"]
        await seen.press("S")
        assert "▾step ms" in seen.panel("header")[0]
        assert [re.search(r"bs +(\d+)", row)[1] for row in seen.table] == ["8", "1", "2", "4", "16"]


async def test_another_session_starts_with_the_sort_order_of_the_settings(
    story: Any, engine: Any, opened: Any, app_context: Any, tmp_path: Path
) -> None:
    write_session(story)
    mine = replace(app_context, preferences=Preferences(Settings(sort="-p50"), tmp_path / "screen.json"))
    async with opened(story.path, engine, app_context=mine) as seen:
        assert "▾step ms" in seen.panel("header")[0]
        await seen.press("s")
        assert "▾step ms" not in seen.panel("header")[0]
        seen.app.post_message(Opened(story.path, engine))
        await seen.look()
        assert "▾step ms" in seen.panel("header")[0]


async def test_the_filter_applies_while_typing_and_escape_clears_it(
    story: Any, engine: Any, opened: Any
) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press("slash", "o", "o", "m")
        assert "1 of 5" in seen.panel("log")[-1]
        assert len(seen.table) == 1 and "oom" in seen.table[0]
        await seen.press("enter")
        assert "/oom" in seen.app.screen.query_one("#cases", Frame).title_text()
        assert "/oom" not in seen.panel("heading")[1]
        await seen.press("z")
        assert "/oom" in seen.panel("heading")[1], "the table is covered"
        await seen.press("z", "escape")
        assert len(seen.table) == 5
        await seen.press("slash", "x", "escape")
        assert len(seen.table) == 5


async def test_n_cycles_through_the_matches(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press("slash", "b", "s", "=", "1", "enter", "n")
        assert seen.table[0].startswith("▸") and "bs  1" in seen.table[0]
        await seen.press("n")
        assert seen.table[1].startswith("▸")
        await seen.press("n")
        assert seen.table[0].startswith("▸")
        await seen.press("N")
        assert seen.table[1].startswith("▸")


async def test_columns_can_be_selected_ordered_and_saved(
    story: Any, engine: Any, opened: Any, app_context: Any, tmp_path: Path
) -> None:
    write_session(story)
    mine = replace(app_context, preferences=Preferences(None, tmp_path / "screen.json"))
    async with opened(story.path, engine, app_context=mine) as seen:
        await seen.press("C")
        assert isinstance(seen.app.screen, ColumnsPage)
        await seen.press("space", "down", "J", *["down"] * 5, "space", *["down"] * 4, "space", "enter")
        titles = " ".join(seen.panel("header")[0].split())
        assert titles == "case p99 ms step ms samples/s memory W vs base notes steps"
        assert "120" in seen.table[0]
        await seen.press("C", "delete", "escape")
        assert "state" in seen.panel("header")[0] and "steps" not in seen.panel("header")[0]
    assert "state" in (tmp_path / "screen.json").read_text()


async def test_columns_are_explained_beside_their_titles(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine, size=(80, 24)) as seen:
        await seen.press("C")
        rows = seen.panel("page")
        assert any(re.search("steps over time +measured steps over time", row) for row in rows)
        assert any(row.endswith("…") for row in rows)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (("P",), ["pause"]),
        (("x",), ["skip 3"]),
        (("g", "r"), ["again 0"]),
        (("G", "delete"), ["drop [4]"]),
        (("G", "backspace"), ["drop [4]"]),
        (("G", "K"), ["order [4]"]),
        (("G", "J"), ["order [4]"]),
        (("g", "a", *"batch_size=64", "enter"), ["add cuda:0 fp32 compile=off bs=64 seq=128"]),
    ],
)
async def test_keys_send_requests_to_the_engine(
    story: Any, engine: Any, opened: Any, keys: tuple[str, ...], told: Any
) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press(*keys)
        await seen.app.workers.wait_for_complete()
        assert engine.commands == told


async def test_invalid_requests_are_reported_and_not_sent(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine, size=(80, 24)) as seen:
        await seen.press("g", "delete")
        assert "still queued" in seen.panel("log")[-1]
        await seen.press("G", "r")
        assert "has ended" in seen.panel("log")[-1]
        await seen.press("a", *"batch_size=x")
        assert "'x' is not a whole number" in seen.panel("log")[-1]
        await seen.press("enter")
        assert seen.app.screen.query("PromptInput")
        await seen.press("escape")
        assert not seen.app.screen.query("PromptInput")
    assert engine.commands == []


async def test_engine_keys_report_a_missing_engine(story: Any, opened: Any) -> None:
    story.begin().case(0).end()
    async with opened(story.path) as seen:
        for key in ("P", "X"):
            await seen.press("g", key)
            assert "no engine is running this session" in seen.panel("log")[-1]


async def test_the_row_is_copied_as_markdown(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press("g", "y")
        head, rule, row = seen.app.clipboard.strip().split("\n")
        assert head.startswith("| case | state | step ms |") and set(rule) <= set("|- ")
        assert row.startswith("| cuda:0 fp32 bs 1 seq 128 | ok | 30.0 |")


async def test_the_report_is_copied_and_exported(story: Any, opened: Any, tmp_path: Path) -> None:
    story.begin().case(0).case(1).case(2).end()
    target = tmp_path / "r.md"
    async with opened(story.path) as seen:
        await seen.press("Y")
        await seen.app.workers.wait_for_complete()
        assert seen.app.clipboard.startswith("# ")
        for there in (False, True):
            await seen.press("E", *["backspace"] * 40)
            typed = seen.app.screen.query_one("PromptInput")
            typed.value = str(target)
            await seen.press("enter")
            if there:
                said = " ".join(line.strip() for line in seen.panel("log"))
                assert "already exists; press Enter again" in said
                target.write_text("old")
                await seen.press("enter")
            await seen.app.workers.wait_for_complete()
            assert target.read_text().startswith("# ")
            assert not seen.app.screen.query("PromptInput")


async def test_the_header_shows_a_paused_queue(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        from benchtui.sessions.events import Paused

        story._add(Paused(t=story.t))
        await seen.look()
        assert seen.panel("heading")[0].endswith("paused")
        assert "P resume" in seen.panel("keys")[0]
        await seen.press("P")
        await seen.app.workers.wait_for_complete()
        assert engine.commands == ["continue"]


async def test_all_running_cases_are_marked(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2, 4)).start(0).prepare(0).steps(0, [10.0] * 8).start(1).prepare(1)
    story.steps(1, [20.0] * 6)
    async with opened(story.path, engine) as seen:
        assert [row.split()[4] for row in seen.table] == ["▶", "▶", "·"]
        assert "bs 2" in seen.panel("current")[0]
        await seen.press("g")
        assert "bs 1" in seen.panel("current")[0] and seen.panel("current")[1].startswith(
            "measuring       8/20"
        )
        await seen.press("x")
        await seen.app.workers.wait_for_complete()
        assert engine.commands == ["skip 0"]


async def test_the_memory_of_a_queued_case_is_predicted(story: Any, engine: Any, opened: Any) -> None:
    story.begin(device="cpu", gpus=0, batch_sizes=(1, 2, 4)).case(0).case(1)
    async with opened(story.path, engine) as seen:
        assert "≈1.49 GiB" in seen.table[2]
        await seen.press("G")
        assert "expected peak 1.49 GiB RSS" in seen.panel("current")[1]


async def test_settings_determine_the_initial_state(
    story: Any, engine: Any, opened: Any, app_context: Any
) -> None:
    write_session(story)
    settings = Settings(theme="okabe-ito", columns=("p99", "state"), sort="-p50", quiet="on")
    mine = replace(app_context, preferences=Preferences(settings))
    async with opened(story.path, engine, app_context=mine) as seen:
        assert seen.app.theme == "okabe-ito"
        assert seen.panel("header")[0].split() == ["case", "p99", "ms", "state"]
        assert seen.panel("heading")[1].endswith("quiet, 1 Hz")
        await seen.press("Q")
        assert "quiet, 1 Hz" not in seen.panel("heading")[1]
        await seen.press("Q")
        assert seen.panel("heading")[1].endswith("quiet, 1 Hz")


async def test_a_new_round_shows_its_warm_up_first(story: Any, engine: Any, opened: Any) -> None:
    from benchtui.sessions.events import CaseStarted, RoundFinished, Steps

    story.begin().start(0).prepare(0).steps(0, [10.0] * 2, "warmup").steps(0, [10.0] * 20)
    story._add(RoundFinished(t=story.t, case=0, round=0))
    story.wait(1)._add(CaseStarted(t=story.t, case=0, round=1, config=story._plan[0]))
    async with opened(story.path, engine) as seen:
        assert seen.panel("current")[1].startswith("loading model")
        story.wait(1).prepare(0)
        await seen.look()
        assert seen.panel("current")[1].startswith("first step")
        story._add(Steps(t=story.t, case=0, phase="warmup", round=1, wall_ms=[10.0]))
        await seen.look()
        assert seen.panel("current")[1].startswith("warm-up        1/2")
        story._add(Steps(t=story.t, case=0, phase="measure", round=1, wall_ms=[10.0] * 3))
        await seen.look()
        assert seen.panel("current")[1].startswith("measuring       3/20")
        assert any("round 2" in row for row in seen.panel("band"))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50), (60, 20)])
async def test_every_panel_stays_within_the_screen(
    story: Any, engine: Any, opened: Any, size: tuple[int, int]
) -> None:
    write_session(story)
    async with opened(story.path, engine, size=size, ascii_only=True) as seen:
        for keys in ((), ("H",), ("z",), ("tab",), ("tab",), ("tab",), ("tab",), ("tab",)):
            await seen.press(*keys)
            rows = seen.text.split("\n")
            assert len(rows) == size[1] and all(len(row) <= size[0] for row in rows)
            assert seen.text.isascii()


async def test_comparing_marks_the_session_in_the_library(stage: Any, app_context: AppContext) -> None:
    async with stage.at("library", replace(app_context, recorded=paths.entries)) as seen:
        await seen.settle("enter")
        base = seen.app.views.path
        await seen.settle("c")
        assert seen.app.current_mode == "library" and f"{base.stem} is A; select another session" in seen.text
        selection = seen.app.screen._selection
        selection.select(next(item.path for item in selection.rows if item.path != base))
        await seen.settle("c")
        assert seen.app.current_mode == "compare" and seen.app.views.compared[0] == base


async def test_comparing_says_that_the_session_is_not_in_the_library(story: Any, opened: Any) -> None:
    story.begin().case(0).end()
    async with opened(story.path) as seen:
        await seen.press("c")
        await seen.settle()
        assert f"{story.path.stem} isn't in the library" in seen.text
