"""Files that change while a sweep runs, or between two sweeps: real processes."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from watching import Watched

from benchtui.sessions.stored_models.file_digests import file_digest
from benchtui.sessions.sweep import Sweep

EDITING = """
import near
near_file = near.__file__
def edit():
    if case.batch_size == 1:
        with open(near_file, "w") as file:
            file.write("# edited")
return Step(edit)"""
"""A step that edits the module next to it while its first case is measured."""


def test_edit_during_a_sweep_marks_later_cases_and_refuses_to_resume(
    start: Callable[[Sweep], Watched], own: Callable[..., Sweep], tmp_path: Path, command: str
) -> None:
    near = tmp_path / "near.py"
    near.write_text("# as measured")
    before = file_digest(near)
    watched = start(own(EDITING, "batch_size=1,2"))
    session = watched.until_ended()
    first, second = session.cases
    assert first.prepared is not None and first.prepared.files["near.py"] == before
    assert set(first.prepared.files) == {"own.py", "near.py"}
    assert first.file_changes == ()
    (mark,) = second.file_changes
    assert mark.startswith("changed: near.py (") and mark.endswith(
        f"; in case 1, {before[:8] if before else ''})"
    )
    path = watched.engine.path
    kept = path.read_bytes()
    explained = subprocess.run(
        [command, "explain", path, "1"], capture_output=True, text=True, timeout=60, check=False
    )
    assert explained.returncode == 2
    assert "files have changed since the session was recorded: near.py: " in explained.stderr
    assert path.read_bytes() == kept


def test_model_of_a_case_has_the_digests_of_what_it_loaded(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep], tiny_model: Path
) -> None:
    (case,) = start(tiny_sweep("batch_size=1")).until_ended().cases
    assert case.prepared is not None
    digests = {name: file_digest(tiny_model / name) for name in case.prepared.files}
    assert case.prepared.files == digests
    assert {"config.json", "vocab.txt"} <= set(digests) and "weights" not in digests
