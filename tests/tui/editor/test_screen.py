from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library.paths import SessionFile
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Exclusion, Sweep
from benchtui.sessions.sweep.toml_reader import entries, load_sweep
from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.styled_text import width_of
from benchtui.tui.editor.form import ENTRIES
from benchtui.tui.editor.help import editor_help
from benchtui.tui.editor.open_dialog import OpenDialog
from benchtui.tui.editor.screen import Editor
from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.pages.help import help_lines
from benchtui.tui.pages.page import Page
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import EditAsked, ExitReason

FILE = '# mine\nmodel = "tiny-bert"\n[axes]\nprecision = ["fp32", "bf16"]\nbatch_size = [1, 2]\n'


async def until(seen: Any, happened: Callable[[], bool]) -> None:
    """Wait, ten seconds at most, for what a thread brings about."""
    for _ in range(500):
        if happened():
            return
        await seen.pilot.pause(0.02)
    raise AssertionError(seen.text)


def sweep_of(seen: Any) -> Sweep:
    return editor(seen).state.draft.sweep


def editor(seen: Any) -> Editor:
    (found,) = [screen for screen in seen.app.screen_stack if isinstance(screen, Editor)]
    return found


def hint(seen: Any) -> str:
    return " ".join(line.strip() for line in seen.panel("hint")).strip()


def line_of(seen: Any, label: str) -> str:
    return next(line for line in seen.panel("entries") if line.lstrip("▸ ").startswith(label))


async def go_to(seen: Any, label: str) -> None:
    await seen.press("g", *["down"] * [entry.label for entry in ENTRIES].index(label))
    assert line_of(seen, label).startswith("▸")


async def typed(seen: Any, text: str) -> None:
    await seen.press("enter", *text)


def test_every_entry_of_a_file_has_a_line() -> None:
    assert [entry.key for entry in ENTRIES] == list(entries())
    assert all(entry.about for entry in ENTRIES)


async def test_the_first_screen_is_a_sweep_that_s_starts(opened: Any) -> None:
    async with opened() as seen:
        assert seen.panel("title")[0] == " quick  preset quick"
        assert hint(seen).startswith("s starts this sweep.")
        await until(seen, lambda: "16 of 16 cases" in seen.panel("totals")[0])
        assert line_of(seen, "batch_size").split() == ["batch_size", "1..8*2"]
        assert " q quit" in seen.panel("keys")[0]
        await seen.press("q")
    assert seen.app.return_value == ExitReason("closed", None)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_all_that_matters_is_there_in_every_size(opened: Any, size: tuple[int, int]) -> None:
    async with opened(size=size) as seen:
        await until(seen, lambda: "16 of 16 cases" in seen.panel("totals")[0])
        for word in ("▸ device", "✓cpu", "seq", "time s", "s starts this sweep", "1 Sweep"):
            assert word in seen.text
        assert all(len(line) <= size[0] for line in seen.text.splitlines())


async def test_a_terminal_that_is_too_small_is_told_so(opened: Any) -> None:
    async with opened(size=(50, 18)) as seen:
        assert "terminal too small" in seen.text


async def test_the_cursor_moves_among_the_lines(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("j")
        assert line_of(seen, "precision").startswith("▸")
        await seen.press("k", "up", "up")
        assert line_of(seen, "dataset").startswith("▸")
        await seen.press("G")
        assert line_of(seen, "env").startswith("▸")
        await seen.press("pageup", "home")
        assert line_of(seen, "name").startswith("▸")
        await seen.press("pagedown", "down")
        assert not line_of(seen, "name").startswith("▸")


async def test_a_value_is_typed_in_place_and_the_cases_follow_at_each_keystroke(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "batch_size")
        await typed(seen, "1..4")
        await until(seen, lambda: "16 of 16 cases" in seen.panel("totals")[0])
        assert "1..4" in seen.text and sweep_of(seen).axes.batch_size == (1, 2, 4, 8)
        await seen.press("*")
        assert "'1..4*' is not a whole number" in hint(seen)
        await seen.press("2")
        await until(seen, lambda: "12 of 12 cases" in seen.panel("totals")[0])
        assert "not a whole number" not in hint(seen)
        await seen.press("enter")
        assert sweep_of(seen).axes.batch_size == (1, 2, 4)
        assert "not saved" in seen.panel("title")[0]


async def test_a_wrong_value_is_not_accepted_and_esc_restores(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "iterations")
        await typed(seen, "none")
        assert hint(seen) == "iterations: 'none' is not a whole number from 1 to 1000000000"
        assert "esc back" in seen.panel("keys")[0]
        for key in ("enter", "down", "tab", "ctrl+s"):
            await seen.press(key)
            assert "is not a whole number" in hint(seen)
        await seen.press("escape")
        assert line_of(seen, "iterations").split() == ["▸", "iterations", "20"]
        assert sweep_of(seen) == load_sweep("quick")


async def test_moving_on_accepts_what_is_typed(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "warmup")
        await typed(seen, "7")
        await seen.press("down")
        assert sweep_of(seen).measure.warmup == 7
        await typed(seen, "30")
        await seen.press("tab")
        assert sweep_of(seen).measure.iterations == 30
        assert seen.panel("matrix")[1].startswith("▸✓")


async def test_digits_and_letters_are_typed_and_lead_nowhere(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "name")
        await typed(seen, "2s5q?")
        assert isinstance(seen.app.screen, Editor)
        await seen.press("enter")
        assert sweep_of(seen).name == "2s5q?"


async def test_values_are_put_on_and_off_without_typing(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "precision")
        assert "✓fp32  tf32" in line_of(seen, "precision")
        await seen.press("right", "l", "space")
        assert sweep_of(seen).axes.precision == ("fp32", "fp16")
        await seen.press("h", "left", "space")
        assert sweep_of(seen).axes.precision == ("fp16",)
        await seen.press("right", "right", "space")
        assert hint(seen) == "at least one value has to stay on"
        assert sweep_of(seen).axes.precision == ("fp16",)


async def test_a_single_value_is_cycled(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "weights")
        await seen.press("space")
        assert sweep_of(seen).weights == "pretrained"
        await seen.press("right")
        assert sweep_of(seen).weights == "random"
        await go_to(seen, "task")
        await seen.press("left")
        assert sweep_of(seen).task == "generate"
        await seen.press("G")
        assert line_of(seen, "new_tokens").split() == ["▸", "new_tokens", "32"]
        await go_to(seen, "retries")
        assert "throttled ones twice" not in line_of(seen, "retries")
        await seen.press("space", "space")
        assert sweep_of(seen).measure.retries == 1


async def test_space_on_a_line_without_known_values_begins_to_type(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "model")
        await seen.press("space", *"gpt2", "enter")
        assert sweep_of(seen).model == "gpt2"


async def test_a_line_goes_back_to_its_default(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "batch_size")
        await seen.press("d")
        assert sweep_of(seen).axes.batch_size == (1,)
        await go_to(seen, "model")
        await seen.press("d")
        assert hint(seen).startswith("model is missing")


async def test_an_entry_that_the_task_ignores_shows_why(app_context: AppContext, opened: Any) -> None:
    (app_context.folder / "t.toml").write_text('model = "m"\n[train]\naccumulation = 4\n')
    async with opened() as seen:
        editor(seen).edit(app_context.folder / "t.toml")
        await seen.press("G")
        assert "4  (of task lm-train alone)" in line_of(seen, "accumulation")
        assert not any("learning_rate" in line for line in seen.panel("entries"))


async def test_changes_are_taken_back_and_made_again(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("u")
        assert hint(seen) == "nothing to take back"
        await seen.press("j", "right", "space", "u")
        assert sweep_of(seen) == load_sweep("quick") and hint(seen) == "taken back"
        await seen.press("ctrl+r")
        assert sweep_of(seen).axes.precision == ("fp32", "tf32") and hint(seen) == "made again"
        await seen.press("ctrl+r")
        assert hint(seen) == "nothing to make again"


async def test_single_cases_are_switched_off_and_on(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("tab", "j", "space")
        off = Exclusion(device="cpu", sequence_length=32, batch_size=2)
        assert sweep_of(seen).exclude == (off,)
        assert seen.panel("matrix")[2].split() == ["▸○", "cpu", "32", "2", "off"]
        await until(seen, lambda: "15 of 16 cases · 1 off" in seen.panel("totals")[0])
        assert "switched off, space switches it on" in hint(seen)
        await seen.press("enter")
        assert sweep_of(seen).exclude == ()


async def test_all_cases_that_share_a_value_are_switched(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("tab", "G", "a")
        assert sweep_of(seen).exclude == (Exclusion(batch_size=8),)
        await seen.press("k", "left", "left", "a")
        assert sweep_of(seen).exclude == (Exclusion(batch_size=8), Exclusion(device="cuda:0"))
        await seen.press("g", "a")
        assert "exclude: leaves no case" in hint(seen)
        await seen.press("G", "a")
        assert sweep_of(seen).exclude == (Exclusion(batch_size=8, device="cpu"),)
        await seen.press("escape", "a")
        assert hint(seen).startswith("tab leads to the cases")


async def test_the_chosen_case_says_what_its_figures_rest_on(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "precision")
        await seen.press("right", "space", "tab")
        assert "time and memory a guess" in hint(seen)
        await seen.press("pagedown")
        assert "skipped, tf32 is a mode of NVIDIA tensor cores" in hint(seen)


async def test_the_cursor_among_many_cases_stays_in_view(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "sequence_length")
        await typed(seen, "1..500")
        await seen.press("enter")
        await go_to(seen, "batch_size")
        await typed(seen, "1..100")
        await seen.press("enter", "tab", "G", "k")
        rows = seen.panel("matrix")
        assert rows[-2].split()[:4] == ["▸✓", "cuda:0", "500", "99"] and rows[-1].split()[1:3] == [
            "cuda:0",
            "500",
        ]
        await until(seen, lambda: "100,000 of 100,000 cases" in seen.panel("totals")[0])
        await seen.press("g")
        assert seen.panel("matrix")[1].split()[:4] == ["▸✓", "cpu", "1", "1"]


async def test_estimates_are_learned_from_earlier_sessions(
    app_context: AppContext, opened: Any, story: Any
) -> None:
    story.begin().case(0).case(1).case(2).end()
    known = SessionFile(story.path, Session.load(story.path).start, finished=True)
    here = replace(app_context, recorded=lambda: [known], hostname="box")
    async with opened(app_context=here) as seen:
        editor(seen).edit(story.path)
        await until(seen, lambda: "learned from 1 earlier session" in seen.panel("totals")[1])
        await until(seen, lambda: "3 of 3 cases · 4 s" in seen.panel("totals")[0])
        assert seen.panel("matrix")[1].split()[-2:] == ["1.2", "700"]
        await seen.press("tab")
        assert "measured in an earlier session" in hint(seen)


async def test_a_library_that_can_not_be_read_leaves_guesses(app_context: AppContext, opened: Any) -> None:
    async with opened(app_context=replace(app_context, recorded=refusing)) as seen:
        await until(seen, lambda: "? is a guess" in seen.panel("totals")[1])


def refusing() -> list[Any]:
    raise BenchtuiError("no")


async def test_s_starts_the_sweep_and_shows_it(
    app_context: AppContext, opened: Any, story: Any, engine: Any
) -> None:
    started: list[Sweep] = []

    def start(sweep: Sweep) -> Any:
        started.append(sweep)
        story.begin()
        return engine

    async with opened(app_context=replace(app_context, start=start)) as seen:
        await seen.press("j", "right", "space", "s")
        await until(seen, lambda: isinstance(seen.app.screen, Monitor))
        await seen.look()
        assert started[0].axes.precision == ("fp32", "tf32")
        assert "0/3 cases" in seen.panel("heading")[0]
        await seen.press("1")
        assert "not saved" not in seen.panel("title")[0]
        await seen.press("2", "d")
    assert seen.app.return_value == ExitReason("detached", story.path)


async def test_an_engine_that_does_not_come_up_is_told(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("s")
        await until(seen, lambda: hint(seen) == "no engine in this test")
        await seen.press("down")
        assert "no engine" not in hint(seen)


async def test_nothing_is_started_where_every_case_is_skipped(opened: Any) -> None:
    async with opened() as seen:
        await go_to(seen, "precision")
        await seen.press("right", "space", "left", "space")
        await go_to(seen, "device")
        await seen.press("right", "space")
        await until(seen, lambda: "0 of 8 cases" in seen.panel("totals")[0])
        await seen.press("s")
        assert hint(seen).startswith("no case would be measured")


async def test_a_second_sweep_is_started_after_a_question(
    app_context: AppContext, opened: Any, story: Any, engine: Any
) -> None:
    story.begin()
    started: list[Sweep] = []

    def start(sweep: Sweep) -> Any:
        started.append(sweep)
        return engine

    async with opened(app_context=replace(app_context, start=start, running=lambda: [engine])) as seen:
        await until(seen, lambda: "trial is running on this machine: 2 shows it" in seen.panel("title")[0])
        await seen.press("s")
        await until(seen, lambda: "two slow each other" in hint(seen))
        await seen.press("j", "space", "escape")
        assert not started and sweep_of(seen) == load_sweep("quick")
        await seen.press("s")
        await until(seen, lambda: "two slow each other" in hint(seen))
        await seen.press("y")
        await until(seen, lambda: isinstance(seen.app.screen, Monitor))
        assert len(started) == 1


async def test_what_runs_is_watched_by_its_key(
    app_context: AppContext, opened: Any, story: Any, engine: Any
) -> None:
    story.begin().start(0)
    async with opened(app_context=replace(app_context, running=lambda: [engine])) as seen:
        await seen.press("2")
        assert isinstance(seen.app.screen, Monitor)
        assert "trial" in seen.panel("heading")[0]


async def test_a_sweep_is_saved_and_its_file_written_back(app_context: AppContext, opened: Any) -> None:
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
        assert "was changed by another program." in hint(seen)
        await seen.press("escape")
        assert path.read_text() == FILE
        await seen.press("w", "enter", "y")
        assert 'precision = "bf16"' in path.read_text()


async def test_a_preset_is_saved_under_a_name_of_its_own(app_context: AppContext, opened: Any) -> None:
    async with opened() as seen:
        await seen.press("w", *"night.toml", "enter")
        saved = app_context.folder / "night.toml"
        assert saved.read_text().startswith("# A first look:")
        assert load_sweep(str(saved)) == load_sweep("quick")
        await seen.press("w", "ctrl+u", "enter")
        assert hint(seen) == "no name given, nothing saved"
        await seen.press("w", "escape")
        assert "save as" not in seen.text


async def test_another_sweep_is_opened_and_the_way_back_stays(app_context: AppContext, opened: Any) -> None:
    (app_context.folder / "mine.toml").write_text(FILE)
    (app_context.folder / "broken.toml").write_text("model = [")
    async with opened() as seen:
        await seen.press("j", "right", "space", "o")
        await until(seen, lambda: "mine.toml" in seen.text)
        await seen.press(*"broken")
        assert "not valid TOML" in hint(seen)
        await seen.press(*["backspace"] * 6, *"ne.t", "enter")
        assert sweep_of(seen).model == "tiny-bert"
        assert seen.panel("title")[0] == f" mine  {app_context.folder / 'mine.toml'}"
        await seen.press("u")
        assert sweep_of(seen).axes.precision == ("fp32", "tf32")


async def test_the_list_is_walked_and_left(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("o")
        await until(seen, lambda: "gpt2-train" in seen.text)
        await seen.press("pagedown", "up", "enter")
        assert sweep_of(seen).name == "gpt2-train"
        await seen.press("o", "escape")
        assert isinstance(seen.app.screen, Editor) and sweep_of(seen).name == "gpt2-train"


async def test_a_path_is_opened_and_a_wrong_one_told(opened: Any, story: Any) -> None:
    story.begin()
    async with opened() as seen:
        await seen.press("o", *"nowhere.toml")
        assert isinstance(seen.app.screen, OpenDialog)
        assert "enter opens it as a path" in seen.text
        await seen.press("enter")
        assert "nowhere.toml: no such file or preset" in hint(seen)
        await seen.press("o", *str(story.path), "enter")
        assert seen.panel("title")[0] == " trial  sweep of trial"


async def test_another_place_has_its_sweep_edited(opened: Any, story: Any, tmp_path: Path) -> None:
    story.begin(batch_sizes=(3, 5))
    async with opened(story.path) as seen:
        seen.app.post_message(EditAsked(story.path))
        await seen.look()
        assert sweep_of(seen).axes.batch_size == (3, 5)
        await seen.press("4")
        seen.app.post_message(EditAsked("gpt2-train"))
        await seen.look()
        assert sweep_of(seen).name == "gpt2-train"
        seen.app.post_message(EditAsked(tmp_path / "gone.json"))
        await seen.look()
        assert "no such file or preset" in hint(seen) and sweep_of(seen).name == "gpt2-train"


async def test_leaving_asks_where_changes_would_be_lost(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("j", "right", "space", "q")
        assert "neither saved nor started" in hint(seen)
        await seen.press("escape", "4", "q")
        assert isinstance(seen.app.screen, Editor) and "neither saved nor started" in hint(seen)
        await seen.press("y")
    assert seen.app.return_value == ExitReason("closed", None)


async def test_help_tells_every_key(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("question_mark")
        assert isinstance(seen.app.screen, Page)
        text = seen.text
        await seen.press("G")
        text += seen.text
        assert all(word in text for word in ("Switch all alike", "[[exclude]]", "a guess"))
        await seen.press("escape")
        assert isinstance(seen.app.screen, Editor)


async def test_all_is_drawn_in_ascii(opened: Any) -> None:
    async with opened(ascii_only=True) as seen:
        await until(seen, lambda: "16 of 16 cases" in seen.panel("totals")[0])
        await seen.press("tab", "space")
        assert seen.text.isascii()


def test_help_fits_a_narrow_terminal() -> None:
    lines = help_lines(editor_help(UNICODE), 56)
    assert max(width_of(drawn) for drawn in lines) <= 56
    assert "libraries alone" in " ".join(text.strip() for drawn in lines for text, _ in drawn)
