from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.widgets import Input

from benchtui.engine.telemetry.gpu.cuda_presence import CudaPresence
from benchtui.sessions.advice.find_sweep import DeviceSupport
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.permissions.needed import Consent
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Exclusion, Find, Sweep
from benchtui.sessions.sweep.options import BY_NAME, OPTIONS
from benchtui.sessions.sweep.toml_reader import entries, load_sweep
from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.styled_text import width_of
from benchtui.tui.editor.form import ENTRIES, FOLDED, RARE
from benchtui.tui.editor.open_dialog import OpenDialog
from benchtui.tui.editor.screen import Editor
from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.pages.help import help_lines
from benchtui.tui.pages.view_help import editor_help
from benchtui.tui.replay.screen import ReplayMonitor
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import EditRequested, ExitReason

FILE = '# mine\nmodel = "tiny-bert"\n[axes]\nprecision = ["fp32", "bf16"]\nbatch_size = [1, 2]\n'


def sweep_of(seen: Any) -> Sweep:
    return editor(seen).state.draft.sweep


def editor(seen: Any) -> Editor:
    (found,) = [screen for screen in seen.app.screen_stack if isinstance(screen, Editor)]
    return found


def hint(seen: Any) -> str:
    return " ".join(line.strip() for line in seen.panel("hint")).strip()


def line_of(seen: Any, label: str) -> str:
    return next(line for line in seen.panel("entries") if line.lstrip("▸ ").startswith(label))


async def select(seen: Any, key: str) -> None:
    rows = [row.entry.key for row in editor(seen).state.form.rows]
    await seen.press("g", *["down"] * rows.index(key))


async def go_to(seen: Any, label: str) -> None:
    entry = next(entry for entry in ENTRIES if entry.label == label)
    if entry.group in FOLDED and entry.group not in editor(seen).state.cursor.opened:
        await select(seen, f"fold.{entry.group}")
        await seen.press("space")
    await select(seen, entry.key)
    assert line_of(seen, label).startswith("▸")


def error(seen: Any) -> str:
    """Return what is said in red below the selected entry."""
    return editor(seen).state.error


async def type_value(seen: Any, text: str) -> None:
    await seen.press("enter", *text)


def test_every_sweep_entry_has_a_form_row() -> None:
    assert sorted(entry.key for entry in ENTRIES) == sorted(entries())
    assert all(entry.about for entry in ENTRIES)


async def test_first_screen_shows_a_sweep_that_r_starts(opened: Any) -> None:
    async with opened() as seen:
        assert seen.panel("title")[0] == " quick  preset quick"
        assert hint(seen).startswith("r starts this sweep.")
        await seen.until(lambda: "16 of 16 cases" in seen.panel("totals")[0])
        assert line_of(seen, "batch_size").split() == ["batch_size", "1..8*2"]
        assert " q quit" in seen.panel("keys")[0]
        await seen.press("q")
    assert seen.exit_reason == ExitReason("closed", None)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_essential_content_is_visible_at_every_size(opened: Any, size: tuple[int, int]) -> None:
    async with opened(size=size) as seen:
        await seen.until(lambda: "16 of 16 cases" in seen.panel("totals")[0])
        for word in ("▸ device", "✓cpu", "seq", "time s", "r starts this sweep", "1 Sweep"):
            assert word in seen.text
        assert all(len(line) <= size[0] for line in seen.text.splitlines())


async def test_typing_a_value_updates_the_cases_at_each_keystroke(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "batch_size")
        await type_value(seen, "1..4")
        await seen.until(lambda: "16 of 16 cases" in seen.panel("totals")[0])
        assert "1..4" in seen.text and sweep_of(seen).axes.batch_size == (1, 2, 4, 8)
        await seen.press("*")
        assert "'1..4*' is not a whole number" in error(seen)
        await seen.press("2")
        await seen.until(lambda: "12 of 12 cases" in seen.panel("totals")[0])
        assert not error(seen)
        await seen.press("enter")
        assert sweep_of(seen).axes.batch_size == (1, 2, 4)
        assert "not saved" in seen.panel("title")[0]


async def test_invalid_value_is_rejected_and_esc_restores(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "iterations")
        await type_value(seen, "none")
        wanted = "iterations: 'none' is not a whole number from 1 to 1000000000"
        assert error(seen) == f'{wanted}, or "auto"'
        at = next(number for number, row in enumerate(seen.panel("entries")) if "iterations" in row)
        assert "iterations: 'none' is not a whole" in seen.panel("entries")[at + 1]
        assert "esc back" in seen.panel("keys")[0]
        for key in ("enter", "down", "tab", "ctrl+s"):
            await seen.press(key)
            assert "is not a whole number" in error(seen)
        await seen.press("escape")
        assert line_of(seen, "iterations").split() == ["▸", "iterations", "auto"]
        assert sweep_of(seen) == load_sweep("quick")


async def test_moving_the_cursor_applies_the_typed_value(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "warmup")
        await type_value(seen, "7")
        await seen.press("down")
        assert sweep_of(seen).measure.warmup == 7
        await type_value(seen, "30")
        await seen.press("tab")
        assert sweep_of(seen).measure.iterations == 30
        assert seen.panel("matrix")[1].startswith("▸✓")


async def test_keys_insert_text_while_typing(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "name")
        await type_value(seen, "2s5q?")
        assert isinstance(seen.app.screen, Editor)
        await seen.press("enter")
        assert sweep_of(seen).name == "2s5q?"


async def test_values_can_be_toggled_without_typing(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "precision")
        assert "✓fp32  tf32" in line_of(seen, "precision")
        await seen.press("right", "l", "space")
        assert sweep_of(seen).axes.precision == ("fp32", "fp16")
        await seen.press("h", "left", "space")
        assert sweep_of(seen).axes.precision == ("fp16",)
        await seen.press("right", "right", "space")
        assert hint(seen) == "at least one value must stay on"
        assert sweep_of(seen).axes.precision == ("fp16",)


async def test_single_value_entry_cycles_through_its_values(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "weights")
        await seen.press("space")
        assert sweep_of(seen).weights == "pretrained"
        await seen.press("right")
        assert sweep_of(seen).weights == "random"
        await go_to(seen, "task")
        await seen.press("left")
        assert line_of(seen, "task").split()[:3] == ["▸", "task", "✓auto"]
        assert sweep_of(seen).task == "classify"
        await seen.press("left")
        assert sweep_of(seen).task == "speech"
        assert sweep_of(seen).axes.sequence_length == (0,)
        await go_to(seen, "new_tokens")
        assert line_of(seen, "new_tokens").split() == ["▸", "new_tokens", "32"]
        await go_to(seen, "retries")
        assert "throttled cases twice" not in line_of(seen, "retries")
        await seen.press("space", "space")
        assert sweep_of(seen).measure.retries == 1


async def test_space_starts_typing_if_an_entry_has_no_known_values(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "model")
        await seen.press("space", *"gpt2", "enter")
        assert sweep_of(seen).model == "gpt2"


async def test_entry_can_be_reset_to_its_default(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "batch_size")
        await seen.press("delete")
        assert sweep_of(seen).axes.batch_size == (1,)
        await go_to(seen, "model")
        await seen.press("delete")
        assert error(seen).startswith("model is missing")


async def test_entry_ignored_by_the_task_shows_why(app_context: AppContext, opened: Any) -> None:
    (app_context.folder / "t.toml").write_text('model = "m"\n[train]\naccumulation = 4\n')
    async with opened() as seen:
        editor(seen).edit(app_context.folder / "t.toml")
        await select(seen, "fold.Train")
        await seen.press("space")
        assert "4  (see axes.accumulation)" in line_of(seen, "accumulation")
        assert not any("learning_rate" in line for line in seen.panel("entries"))


async def test_changes_can_be_undone_and_redone(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("u")
        assert hint(seen) == "nothing to undo"
        await go_to(seen, "precision")
        await seen.press("right", "space", "u")
        assert sweep_of(seen) == load_sweep("quick") and hint(seen) == "undone: precision"
        await seen.press("ctrl+r")
        assert sweep_of(seen).axes.precision == ("fp32", "tf32") and hint(seen) == "redone: precision"
        await seen.press("ctrl+r")
        assert hint(seen) == "nothing to redo"


async def test_single_cases_can_be_disabled_and_enabled(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("tab", "j", "space")
        off = Exclusion(device="cpu", sequence_length=32, batch_size=2)
        assert sweep_of(seen).exclude == (off,)
        assert seen.panel("matrix")[2].split() == ["▸○", "cpu", "32", "2", "off"]
        await seen.until(lambda: "15 of 16 cases · 1 off" in seen.panel("totals")[0])
        assert "off; space turns it on" in hint(seen)
        await seen.press("enter")
        assert sweep_of(seen).exclude == ()


async def test_all_cases_sharing_a_value_can_be_toggled(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("tab", "G", "A")
        assert sweep_of(seen).exclude == (Exclusion(batch_size=8),)
        await seen.press("k", "left", "left", "A")
        assert sweep_of(seen).exclude == (Exclusion(batch_size=8), Exclusion(device="cuda:0"))
        await seen.press("g", "A")
        assert "exclude: excludes every case" in hint(seen)
        await seen.press("G", "A")
        assert sweep_of(seen).exclude == (Exclusion(batch_size=8, device="cpu"),)
        await seen.press("escape", "A")
        assert hint(seen).startswith("tab moves to the cases")


async def test_selected_case_shows_the_basis_of_its_predictions(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "precision")
        await seen.press("right", "space", "tab")
        assert "time and memory roughly estimated" in hint(seen)
        await seen.press("pagedown")
        assert "skipped: tf32 is a mode of NVIDIA tensor cores" in hint(seen)


async def test_cursor_stays_visible_among_many_cases(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "sequence_length")
        await type_value(seen, "1..25")
        await seen.press("enter")
        await go_to(seen, "batch_size")
        await type_value(seen, "1..100")
        await seen.press("enter", "tab", "G", "k")
        rows = seen.panel("matrix")
        assert rows[-2].split()[:4] == ["▸✓", "cuda:0", "25", "99"] and rows[-1].split()[1:3] == [
            "cuda:0",
            "25",
        ]
        await seen.until(lambda: "5,000 of 5,000 cases" in seen.panel("totals")[0])
        await seen.press("g")
        assert seen.panel("matrix")[1].split()[:4] == ["▸✓", "cpu", "1", "1"]


async def test_predictions_are_learned_from_earlier_sessions(
    app_context: AppContext, opened: Any, story: Any
) -> None:
    story.begin().case(0).case(1).case(2).end()
    known = SessionFile(story.path, Session.load(story.path).start, finished=True)
    here = replace(app_context, recorded=lambda: [known], hostname="box")
    async with opened(app_context=here) as seen:
        editor(seen).edit(story.path)
        await seen.until(lambda: "based on 1 earlier session" in seen.panel("totals")[1])
        await seen.until(lambda: "3 of 3 cases · 4 s" in seen.panel("totals")[0])
        assert seen.panel("matrix")[1].split()[-3:] == ["1.2", "668", "MiB"]
        await seen.press("tab")
        assert "measured in an earlier session" in hint(seen)


async def test_unreadable_library_leaves_guessed_predictions(app_context: AppContext, opened: Any) -> None:
    async with opened(app_context=replace(app_context, recorded=failing_library)) as seen:
        await seen.until(lambda: "? = rough estimate" in seen.panel("totals")[1])


def failing_library() -> list[Any]:
    raise BenchtuiError("no")


async def test_s_starts_the_sweep_and_opens_the_monitor(
    app_context: AppContext, opened: Any, story: Any, engine: Any
) -> None:
    started: list[Sweep] = []

    def start(sweep: Sweep, consent: Consent, wait: bool) -> Any:
        started.append(sweep)
        story.begin()
        return engine

    async with opened(app_context=replace(app_context, start=start)) as seen:
        await go_to(seen, "precision")
        await seen.press("right", "space", "r")
        await seen.until(lambda: isinstance(seen.app.screen, Monitor))
        await seen.look()
        assert started[0].axes.precision == ("fp32", "tf32")
        assert "0/3 cases" in seen.panel("heading")[0]
        await seen.press("1")
        assert "not saved" not in seen.panel("title")[0]
        await seen.press("2", "d")
    assert seen.exit_reason == ExitReason("detached", story.path)


async def test_failed_engine_start_shows_an_error(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("r")
        await seen.until(lambda: hint(seen) == "no engine in this test")
        await seen.press("down")
        assert "no engine" not in hint(seen)


async def test_sweep_with_only_skipped_cases_is_not_started(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "precision")
        await seen.press("right", "space", "left", "space")
        await go_to(seen, "device")
        await seen.press("right", "space")
        await seen.until(lambda: "0 of 8 cases" in seen.panel("totals")[0])
        await seen.press("r")
        assert hint(seen).startswith("nothing to measure")


@pytest.mark.parametrize("answer", ["w", "y", ""], ids=["wait", "anyway", "the other ends"])
async def test_starting_a_second_sweep_asks_first(
    app_context: AppContext, opened: Any, story: Any, engine: Any, answer: str
) -> None:
    story.begin()
    waits: list[bool] = []
    started: list[Sweep] = []

    def start(sweep: Sweep, consent: Consent, wait: bool) -> Any:
        started.append(sweep)
        waits.append(wait)
        return engine

    running = [engine]
    async with opened(app_context=replace(app_context, start=start, running=lambda: running)) as seen:
        await seen.until(lambda: "trial is running on this machine: 2 opens it" in seen.panel("title")[0])
        await seen.press("r")
        await seen.until(lambda: "running both slows each down" in seen.text)
        assert "w: wait, then start" in seen.text and "y: start anyway" in seen.text
        await seen.press("j", "space", "escape")
        assert not started and sweep_of(seen) == load_sweep("quick")
        assert "starting" not in hint(seen)
        await seen.press("r")
        await seen.until(lambda: "running both slows each down" in seen.text)
        await seen.press(answer) if answer else running.clear()
        await seen.until(lambda: isinstance(seen.app.screen, Monitor))
        assert (len(started), waits) == (1, [answer == "w"])


async def test_running_sweep_can_be_opened_by_key(
    app_context: AppContext, opened: Any, story: Any, engine: Any
) -> None:
    story.begin().start(0)
    async with opened(app_context=replace(app_context, running=lambda: [engine])) as seen:
        await seen.press("2")
        assert isinstance(seen.app.screen, Monitor)
        assert "trial" in seen.panel("heading")[0]


async def test_sweep_is_saved_to_its_own_file(app_context: AppContext, opened: Any) -> None:
    path = app_context.folder / "mine.toml"
    path.write_text(FILE)
    async with opened() as seen:
        editor(seen).edit(path)
        await go_to(seen, "precision")
        await seen.press("space", "w")
        assert "save as: mine.toml" in seen.text
        await seen.press("enter")
        assert hint(seen) == f"saved {path}"
        assert path.read_text() == FILE.replace('["fp32", "bf16"]', '"bf16"')
        path.write_text(FILE)
        await seen.press("ctrl+s", "enter")
        assert "has been changed by another program." in hint(seen)
        await seen.press("escape")
        assert path.read_text() == FILE
        await seen.press("w", "enter", "y")
        assert 'precision = "bf16"' in path.read_text()


async def test_preset_is_saved_under_a_new_name(app_context: AppContext, opened: Any) -> None:
    async with opened() as seen:
        await seen.press("w", *"night.toml", "enter")
        saved = app_context.folder / "night.toml"
        assert saved.read_text().startswith("# A first look:")
        assert load_sweep(str(saved)) == load_sweep("quick")
        await seen.press("w", "ctrl+u", "enter")
        assert hint(seen) == "save as: not saved: no file name given"
        await seen.press("escape")
        assert "save as" not in seen.text


async def test_opening_another_sweep_can_be_undone(app_context: AppContext, opened: Any) -> None:
    (app_context.folder / "mine.toml").write_text(FILE)
    (app_context.folder / "broken.toml").write_text("model = [")
    async with opened() as seen:
        await go_to(seen, "precision")
        await seen.press("right", "space", "o")
        await seen.until(lambda: "mine.toml" in seen.text)
        await seen.press(*"broken")
        assert "not valid TOML" in hint(seen)
        await seen.press(*["backspace"] * 6, *"ne.t", "enter")
        assert sweep_of(seen).model == "tiny-bert"
        assert seen.panel("title")[0] == f" mine  {app_context.folder / 'mine.toml'}"
        await seen.press("u")
        assert sweep_of(seen).axes.precision == ("fp32", "tf32") and hint(seen).startswith("undone: opened ")


async def test_open_dialog_can_be_navigated_and_closed(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("o")
        await seen.until(lambda: "gpt2-train" in seen.text)
        await seen.press("pagedown", *["up"] * 3, "enter")
        assert sweep_of(seen).name == "gpt2-train"
        await seen.press("o", "escape")
        assert isinstance(seen.app.screen, Editor) and sweep_of(seen).name == "gpt2-train"


async def test_typed_path_is_opened_and_an_invalid_one_shows_an_error(opened: Any, story: Any) -> None:
    story.begin()
    async with opened() as seen:
        await seen.press("o", *"nowhere.toml")
        assert isinstance(seen.app.screen, OpenDialog)
        assert "enter opens the text as a path" in seen.text
        await seen.press("enter")
        assert "nowhere.toml: no such file or preset" in hint(seen)
        await seen.press("o", *str(story.path), "enter")
        assert seen.panel("title")[0] == " trial  sweep of trial"


async def test_another_view_can_open_its_sweep_in_the_editor(opened: Any, story: Any, tmp_path: Path) -> None:
    story.begin(batch_sizes=(3, 5))
    async with opened(story.path) as seen:
        seen.app.post_message(EditRequested(story.path))
        await seen.look()
        assert sweep_of(seen).axes.batch_size == (3, 5)
        await seen.press("4")
        seen.app.post_message(EditRequested("gpt2-train"))
        await seen.look()
        assert sweep_of(seen).name == "gpt2-train"
        seen.app.post_message(EditRequested(tmp_path / "gone.json"))
        await seen.look()
        assert "no such file or preset" in hint(seen) and sweep_of(seen).name == "gpt2-train"


async def test_quit_asks_if_changes_would_be_lost(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "precision")
        await seen.press("right", "space", "q")
        assert "neither saved nor started" in hint(seen)
        await seen.press("escape", "4", "q")
        assert isinstance(seen.app.screen, Editor) and "neither saved nor started" in hint(seen)
        await seen.press("y")
    assert seen.exit_reason == ExitReason("closed", None)


def test_help_fits_a_narrow_terminal() -> None:
    lines = help_lines(editor_help(UNICODE), 56)
    assert max(width_of(drawn) for drawn in lines) <= 56
    assert "memory of weights and libraries" in " ".join(text.strip() for drawn in lines for text, _ in drawn)


async def test_groups_are_folded_until_they_are_opened(opened: Any) -> None:
    async with opened() as seen:
        assert not any("warmup" in row for row in seen.panel("entries"))
        assert "Measure ▸ 2 of 17 set: rounds auto, baseline batch_" in line_of(seen, "Measure")
        await select(seen, "fold.Measure")
        await seen.press("enter")
        assert line_of(seen, "warmup") and line_of(seen, "Measure").split()[:2] == ["▸", "Measure"]
        await seen.press("4", "1")
        assert line_of(seen, "warmup")
        await seen.press("space")
        assert not any("warmup" in row for row in seen.panel("entries"))


async def test_rarely_used_options_are_folded_and_counted(opened: Any) -> None:
    async with opened(size=(80, 24)) as seen:
        for label in ("model", "device", "sequence_length", "batch_size", "precision"):
            assert line_of(seen, label), "what most sweeps set is on the first screen"
        await seen.press("G", "pageup", "pagedown")
        assert "More options ▸ 5 options" in line_of(seen, "More options")
        await seen.press("slash", *"thre", "enter", "enter", "ctrl+u", *"1,2", "enter")
        assert line_of(seen, "threads").split()[1:] == ["threads", "1,2"]
        await select(seen, f"fold.{RARE}")
        await seen.press("enter")
        assert "More options ▸ 1 of 5 set: threads 1,2" in line_of(seen, "More options")


def test_the_table_of_options_says_which_are_rare() -> None:
    groups = {entry.label: entry.group for entry in ENTRIES if entry.key.startswith("axes.")}
    assert groups == {
        option.name: RARE if option.rare else "Axes" for option in OPTIONS if option.name in groups
    }
    assert not any(BY_NAME[name].rare for name in ("device", "precision", "sequence_length", "batch_size"))


async def test_help_stands_below_the_selected_entry(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "weights")
        rows = seen.panel("entries")
        at = next(number for number, row in enumerate(rows) if row.startswith("▸ weights"))
        assert "the same architecture without a download" in rows[at + 1]
        assert sum("the same architecture" in row for row in rows) == 1


async def test_help_stands_beside_the_cases_of_a_wide_screen(opened: Any) -> None:
    async with opened(size=(200, 50)) as seen:
        await go_to(seen, "weights")
        beside = " ".join(seen.panel("meaning"))
        assert "the same architecture without a download" in beside and "values   " in beside
        assert not any("the same architecture" in row for row in seen.panel("entries"))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_all_values_of_an_option_are_visible(opened: Any, size: tuple[int, int]) -> None:
    async with opened(size=size) as seen:
        await go_to(seen, "precision")
        assert all(value in seen.text for value in ("amp-fp16", "amp-bf16", "int8"))


async def test_value_that_is_listed_twice_is_kept_once(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "batch_size")
        await type_value(seen, "16,32,32,8..16*2,20..21,21")
        await seen.press("enter")
        assert hint(seen) == "listed twice, kept once: 32, 21"
        assert line_of(seen, "batch_size").split(maxsplit=2)[2] == "16, 32, 8..16*2, 20..21"
        assert sweep_of(seen).axes.batch_size == (16, 32, 8, 20, 21)


async def test_cases_without_their_device_are_not_counted(app_context: AppContext, opened: Any) -> None:
    none = CudaPresence(0, "no NVIDIA driver")
    async with opened(app_context=replace(app_context, missing_device=lambda: none.missing_reason)) as seen:
        await seen.until(lambda: "8 of 8 cases" in seen.panel("totals")[0])
        assert hint(seen) == "cuda:0 left out: no CUDA here: no NVIDIA driver; u undoes this"
        assert "not saved" not in seen.panel("title")[0]
        await seen.press("u")
        await seen.until(lambda: "8 of 16 cases can run" in seen.panel("totals")[0])
        assert "no CUDA here: no NVIDIA driver" in seen.panel("totals")
        row = next(row for row in seen.panel("matrix") if "cuda:0" in row)
        assert row.split()[0] == "○" and row.endswith("no CUDA here")
        await go_to(seen, "device")
        await seen.press("space")
        await seen.until(lambda: "0 of 8 cases can run" in seen.panel("totals")[0])
        await seen.press("r")
        assert hint(seen) == "nothing to measure: no CUDA here: no NVIDIA driver"
        await seen.press("o", *"quick", "enter")
        await seen.until(lambda: "8 of 8 cases" in seen.panel("totals")[0])


async def test_first_screen_names_the_demo_and_o_replays_it(opened: Any) -> None:
    async with opened() as seen:
        assert "the demo" in hint(seen)
        await seen.press("o")
        await seen.until(lambda: "gpt2-train" in seen.text)
        await seen.press(*"demo", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, ReplayMonitor))


async def test_recent_sweeps_are_listed_once(app_context: AppContext, opened: Any, story: Any) -> None:
    story.begin().end()
    known = SessionFile(story.path, Session.load(story.path).start, finished=True)
    async with opened(app_context=replace(app_context, recorded=lambda: [known, known])) as seen:
        await seen.press("o")
        await seen.until(lambda: "Recent sweeps" in seen.text)
        assert sum(row.startswith("  trial") for row in seen.panel("choices")) == 1
        await seen.press(*"trial", "enter")
        assert seen.panel("title")[0] == " trial  sweep of trial"


async def test_saved_sweep_gets_an_extension_so_that_it_is_listed(app_context: AppContext, opened: Any) -> None:
    async with opened() as seen:
        await seen.press("w", "ctrl+u", *"night", "enter")
        assert (app_context.folder / "night.toml").exists()
        await seen.press("o")
        await seen.until(lambda: "night.toml" in seen.text)


async def test_refused_path_stays_in_the_prompt_with_the_error_under_it(
    app_context: AppContext, opened: Any
) -> None:
    async with opened() as seen:
        await seen.press("w", "ctrl+u", *"none/night", "enter")
        prompt, error = seen.panel("hint")
        assert prompt.startswith("save as:") and "can't be written: No" in error
        assert seen.app.focused.value == "none/night" and "none/night" in seen.text
        await seen.press(*["left"] * 5, *["backspace"] * 5, "enter")
        assert (app_context.folder / "night.toml").exists()


async def test_click_selects_an_entry_or_a_case_and_a_double_click_edits(opened: Any) -> None:
    async with opened() as seen:
        lines = seen.panel("entries")
        row = next(at for at, line in enumerate(lines) if line.strip().startswith("batch_size"))
        await seen.pilot.click("#entries", offset=(4, row))
        assert line_of(seen, "batch_size").startswith("▸")
        await seen.pilot.click("#matrix", offset=(4, 3))
        assert seen.panel("matrix")[3].startswith("▸")
        row = next(at for at, line in enumerate(seen.panel("entries")) if line.strip().startswith("model "))
        await seen.double_click("#entries", (4, row))
        assert seen.app.focused is not None and not editor(seen).state.in_cases


async def test_esc_returns_to_the_previous_place(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("4", "5", "escape")
        assert "▸4 Library" in seen.panel("places")[0]
        await seen.press("escape")
        assert "▸1 Sweep" in seen.panel("places")[0]
        await seen.press("escape")
        assert "▸0 Home" in seen.panel("places")[0]
        await seen.press("escape")
        assert "▸0 Home" in seen.panel("places")[0]


async def test_click_selects_a_sweep_to_open_and_a_double_click_opens_it(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("o")
        await seen.pilot.pause()
        row = next(at for at, line in enumerate(seen.panel("choices")) if "gpt2-train" in line)
        await seen.pilot.click("#choices", offset=(5, row))
        assert seen.panel("choices")[row].startswith("▸")
        await seen.press(*"gpt2")  # the input keeps the focus
        row = next(at for at, line in enumerate(seen.panel("choices")) if "gpt2-train" in line)
        await seen.double_click("#choices", (5, row))
        await seen.pilot.pause()
        assert "gpt2-train" in seen.panel("title")[0]


async def test_an_entry_is_found_by_a_part_of_its_name(opened: Any) -> None:
    """Also one of a folded group; esc and enter end the search, and the entry stays selected."""
    async with opened() as seen:
        await seen.press("slash", *"bat")
        assert line_of(seen, "batch_size").startswith("▸") and "find an entry: bat" in seen.text
        await seen.press("enter", "enter", "ctrl+u", *"1,8", "enter")
        assert editor(seen).state.sweep.axes.batch_size == (1, 8)
        await seen.press("slash", *"time")
        assert line_of(seen, "timeout").startswith("▸")
        await seen.press(*"zz")
        assert "no entry has this name" in seen.text
        await seen.press("escape", "down")
        assert "find an entry" not in seen.text and "no entry" not in seen.text
        assert not line_of(seen, "timeout").startswith("▸")


def trained_model(folder: Path) -> Path:
    """Write the files of a model that embeds."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"architectures": ["BertModel"]}')
    for name in ("modules.json", "tokenizer.json"):
        (folder / name).write_text("[]")
    (folder / "model.safetensors").write_bytes(b"0")
    return folder


async def test_folder_of_a_model_proposes_its_weights_and_task(opened: Any, tmp_path: Path) -> None:
    folder = trained_model(tmp_path / "my-model")
    async with opened() as seen:
        await seen.press("slash", *"model", "enter", "enter", "ctrl+u", *str(folder), "enter")
        sweep = sweep_of(seen)
        assert (sweep.model, sweep.weights, sweep.task) == (str(folder), "pretrained", "embed")
        assert "task embed (modules.json)" in hint(seen) and "u undoes this" in hint(seen)
        await seen.press("u")
        sweep = sweep_of(seen)
        assert (sweep.model, sweep.weights, sweep.task) == (str(folder), "random", "classify")
        await seen.press("u")
        assert sweep_of(seen) == load_sweep("quick")


async def test_tab_completes_the_model_and_does_not_accept_it(opened: Any, tmp_path: Path) -> None:
    for name in ("mine-a", "mine-b"):
        trained_model(tmp_path / "models" / name)
    async with opened() as seen:
        before = sweep_of(seen)
        await seen.press("slash", *"model", "enter", "enter", "ctrl+u", *f"{tmp_path}/mod", "tab", "m", "tab")
        field = seen.app.focused
        assert isinstance(field, Input) and field.value == f"{tmp_path}/models/mine-"
        assert "mine-a" in hint(seen) and "mine-b" in hint(seen)
        assert sweep_of(seen) == before and not editor(seen).state.in_cases
        await seen.press("a", "enter")
        assert sweep_of(seen).model == f"{tmp_path}/models/mine-a"


async def test_missing_model_is_red_and_does_not_start(app_context: AppContext, opened: Any) -> None:
    started: list[Sweep] = []

    def start(sweep: Sweep, consent: Consent, wait: bool) -> Any:
        started.append(sweep)

    async with opened(app_context=replace(app_context, start=start)) as seen:
        await seen.press("slash", *"model", "enter", "enter", "ctrl+u", *"./missing", "enter")
        reason = "no such folder, and not in the cache of the hub"
        row = next(at for at, line in enumerate(seen.panel("entries")) if "./missing" in line)
        assert reason in seen.panel("entries")[row + 1]
        await seen.settle("r")
        assert hint(seen) == f"model ./missing: {reason}"
    assert started == []


async def test_model_that_will_be_downloaded_is_named(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", "/no/such/folder")
    async with opened() as seen:
        await seen.press("slash", *"weights", "enter", "space")
        assert sweep_of(seen).weights == "pretrained"
        assert "not in the cache of the hub: will be downloaded" in " ".join(seen.panel("entries"))


async def test_f_turns_the_sweep_into_a_search_of_its_model(opened: Any, app_context: AppContext) -> None:
    support = DeviceSupport(device="cpu", bf16=False, compiler=False, processors=2)
    async with opened(app_context=replace(app_context, device_support=lambda: support)) as seen:
        before = sweep_of(seen)
        await seen.press("f")
        await seen.until(lambda: sweep_of(seen) != before)
        search = sweep_of(seen)
        assert search.find == Find() and search.measure.rounds_auto and search.run.budget_s == 900
        assert (search.model, search.weights, search.task) == (before.model, before.weights, before.task)
        assert search.axes.sequence_length == before.axes.sequence_length
        assert search.axes.precision == ("fp32",) and len(search.axes.batch_size) > 1
        assert "search for the best case" in hint(seen)
        await seen.press("u")
        assert sweep_of(seen) == before
