"""Starting a sweep whose file names code or variables: asked about, except for what was typed here."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.permissions.needed import Consent, PermissionNeededError, needed_permissions
from benchtui.sessions.sweep import Sweep
from benchtui.tui.editor.draft import Draft
from benchtui.tui.editor.screen import Editor
from benchtui.tui.pages.questions import PermissionScreen

FILE = """
name = "s"
task = "step.py:make"
[axes]
batch_size = [1, 2]
[axes.env]
LD_PRELOAD = ["/elsewhere/none.so"]
"""


def names(draft: Draft) -> list[str]:
    """What was typed, of everything that the sweep needs."""
    return [each.name.rpartition("/")[2] for each in needed_permissions(draft.sweep) if each.key in draft.typed]


def test_only_what_was_typed_is_consent(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(FILE)
    draft = Draft.of(file)
    assert names(draft) == []
    draft.apply(draft.with_entry("axes.batch_size", "1, 2, 4"))
    assert names(draft) == []
    draft.apply(draft.with_entry("env", '{ MINE = "1" }'))
    assert names(draft) == ["MINE"]
    draft.apply(draft.with_entry("task", "other.py:make"))
    assert names(draft) == ["other.py", "MINE"]


def test_opening_undoing_and_saving_are_no_typing(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(FILE)
    draft = Draft.of("quick")
    draft.open(file)
    draft.undo()
    draft.redo()
    draft.open(file)
    assert names(draft) == []
    draft.apply(draft.with_entry("env", '{ MINE = "1" }'))
    draft.save(file)
    assert names(draft) == ["MINE"]


async def test_code_of_a_file_is_asked_about_and_typed_code_is_not(
    app_context: Any, opened: Any, story: Any, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Consent] = []

    def start(sweep: Sweep, consent: Consent, wait: bool) -> Any:
        given.append(consent)
        missing = tuple(each for each in needed_permissions(sweep) if each.key not in consent)
        if missing:
            raise PermissionNeededError(missing)
        story.begin()
        return engine

    file = app_context.folder / "s.toml"
    file.write_text(FILE)
    monkeypatch.chdir(app_context.folder)
    Path("step.py").write_text("def make(case): ...\n")
    async with opened(app_context=replace(app_context, start=start)) as seen:
        screen = seen.app.screen
        assert isinstance(screen, Editor)
        screen.edit(file)
        await seen.press("r")
        await seen.until(lambda: isinstance(seen.app.screen, PermissionScreen))
        await seen.pilot.pause()
        assert "run function make of" in seen.text and "set LD_PRELOAD=/elsewhere/none.so" in seen.text
        await seen.press("escape")
        await seen.until(lambda: "not started" in seen.text)
        assert given == [frozenset()]
        await seen.press("r")
        await seen.until(lambda: isinstance(seen.app.screen, PermissionScreen))
        await seen.press("y")
        await seen.until(lambda: len(given) == 3)
        assert len(given[2]) == 2
    async with opened(app_context=replace(app_context, start=start)) as seen:
        draft = seen.app.screen.state.draft
        draft.apply(draft.with_entry("env", '{ MINE = "1" }'))
        await seen.press("r")
        await seen.until(lambda: len(given) == 4)
        assert len(given[3]) == 1 and not isinstance(seen.app.screen, PermissionScreen)
