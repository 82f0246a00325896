import os
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Exclusion
from benchtui.sessions.sweep.toml_reader import load_sweep
from benchtui.tui.editor.draft import Draft

FILE = '# mine\nmodel = "tiny-bert"  # small\n[axes]\nbatch_size = "1..8*2"\nprecision = ["fp32", "bf16"]\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(FILE)
    return file


def test_draft_of_a_session_is_its_recorded_sweep(story: Any) -> None:
    story.begin(batch_sizes=(1, 2, 4, 8))
    draft = Draft.of(story.path)
    assert draft.sweep.name == "trial" and draft.sweep.axes.batch_size == (1, 2, 4, 8)
    assert draft.state.texts["axes.batch_size"] == "1..8*2"
    assert draft.state.origin.path is None


def test_session_without_its_first_event_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('[\n{"event":"later","t":0},\n')
    with pytest.raises(BenchtuiError, match="not a session file"):
        Draft.of(tmp_path / "s.json")


@pytest.mark.parametrize(
    ("entry", "text", "told"),
    [
        ("axes.precision", "fp61", "precision: 'fp61' is not recognized (did you mean 'fp16'?); allowed: fp32"),
        ("axes.batch_size", "8..1", "batch_size: '8..1': start is larger than end"),
        ("measure.warmup", "-1", "warmup: -1 is not a whole number"),
        ("measure.baseline", "precision", "baseline: 'precision' is not a pair"),
        ("model", "", "model is missing; name a hub id"),
        ("task", "clasify", "task: 'clasify' is not recognized (did you mean 'classify'?)"),
    ],
)
def test_invalid_text_raises_and_changes_nothing(path: Path, entry: str, text: str, told: str) -> None:
    draft = Draft.of(path)
    with pytest.raises(BenchtuiError) as caught:
        draft.with_entry(entry, text)
    assert str(caught.value).startswith(told)
    assert not draft.changed


def test_too_many_cases_are_rejected(path: Path) -> None:
    draft = Draft.of(path)
    draft.apply(draft.with_entry("axes.batch_size", "1..900"))
    with pytest.raises(BenchtuiError, match="at most 5,000"):
        draft.with_entry("axes.sequence_length", "1..9000")


def test_every_change_can_be_undone_and_redone(path: Path) -> None:
    draft = Draft.of(path)
    draft.apply(draft.with_entry("axes.batch_size", "16"))
    draft.apply(draft.with_entry("axes.precision", ""))
    draft.apply(draft.with_cases_off(Exclusion(batch_size=16, precision="bf16")))
    draft.open("quick")
    seen = []
    while draft.undo():
        seen.append(draft.sweep)
    assert draft.sweep == load_sweep(str(path)) and len(seen) == 4
    while draft.redo():
        pass
    assert draft.sweep == load_sweep("quick")
    draft.undo()
    draft.apply(draft.with_entry("name", "other"))
    assert not draft.redo()


def test_last_case_cannot_be_disabled(path: Path) -> None:
    draft = Draft.of(path)
    draft.apply(draft.with_cases_off(Exclusion(precision="fp32")))
    with pytest.raises(BenchtuiError, match="exclude: excludes every case"):
        draft.with_cases_off(Exclusion(precision="bf16"))
    draft.apply(draft.with_cases_on(Exclusion(precision="fp32")))
    assert draft.sweep.exclude == ()


def test_saved_file_keeps_comments_and_equals_the_draft(path: Path) -> None:
    draft = Draft.of(path)
    draft.apply(draft.with_entry("axes.batch_size", "1, 2"))
    draft.apply(draft.with_cases_off(Exclusion(precision="bf16", batch_size=2)))
    assert draft.changed
    draft.save(path)
    assert not draft.changed
    text = path.read_text()
    assert text.startswith('# mine\nmodel = "tiny-bert"  # small\n')
    assert "batch_size = [1, 2]" in text and "[[exclude]]" in text
    assert load_sweep(str(path)) == draft.sweep


def test_undo_works_past_a_save(path: Path) -> None:
    draft = Draft.of(path)
    draft.apply(draft.with_entry("axes.batch_size", "1, 2"))
    draft.save(path)
    draft.undo()
    assert draft.changed and draft.overwrite_warning(path) is None
    draft.save(path)
    assert path.read_text() == FILE


def test_overwriting_another_or_a_changed_file_needs_confirmation(path: Path) -> None:
    draft = Draft.of(path)
    assert draft.overwrite_warning(path) is None
    assert draft.overwrite_warning(path.with_name("new.toml")) is None
    path.with_name("there.toml").write_text("x")
    assert draft.overwrite_warning(path.with_name("there.toml")) == (
        f"{path.with_name('there.toml')} already exists"
    )
    path.write_text(FILE + "# more\n")
    assert draft.overwrite_warning(path) == f"{path} has been changed by another program"


def test_saving_keeps_file_mode_and_symlinks(path: Path) -> None:
    path.chmod(0o640)
    link = path.with_name("link.toml")
    link.symlink_to(path)
    draft = Draft.of(link)
    draft.apply(draft.with_entry("axes.batch_size", "4"))
    draft.save(link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    assert load_sweep(str(path)).axes.batch_size == (4,)


def test_failed_save_raises_and_leaves_no_file(path: Path) -> None:
    draft = Draft.of(path)
    with pytest.raises(BenchtuiError, match="can't be written: No such file"):
        draft.save(path.parent / "nowhere" / "x.toml")
    with pytest.raises(BenchtuiError, match="can't be written: Is a directory"):
        draft.save(path.parent)
    assert os.listdir(path.parent) == ["mine.toml"]
