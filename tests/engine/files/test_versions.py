"""Files that change during a session, or before it is resumed; cases are played."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchtui.engine.control import Command, ResumeOptions
from benchtui.engine.files.versions import FileVersions
from benchtui.engine.supervisor.command_handler import execute
from benchtui.engine.supervisor.resume import ResumableSession
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CasePrepared
from benchtui.sessions.payloads import Host, Model
from benchtui.sessions.permissions import approved
from benchtui.sessions.state.session import Session
from benchtui.sessions.stored_models.file_digests import file_digest
from benchtui.sessions.sweep import Axes, Config, Measure, Sweep

OLD, NEW = {"sane.py": "a" * 16, "near.py": "c" * 16}, {"sane.py": "b" * 16, "near.py": "c" * 16}
MARK = "changed: sane.py (bbbbbbbb; in case 1, aaaaaaaa)"
Begin = Callable[..., Any]


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow all code: these tests are about files that have changed."""
    monkeypatch.setattr(approved, "missing", lambda permissions: ())


def marks(session: Session) -> list[tuple[str, ...]]:
    return [case.file_changes for case in session.cases]


def own(folder: Path = Path()) -> dict[str, Any]:
    return {"task": f"{folder}/sane.py:make"}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Step and neighbor as recorded, and as they are now."""
    for name in OLD:
        (tmp_path / name).write_text(name)
    return {name: file_digest(tmp_path / name) or "" for name in OLD}


def test_case_with_changed_files_is_marked_and_logged(stage: Begin) -> None:
    sweep = stage(**own())
    sweep.finish(0, files=OLD)
    sweep.finish(1, files=NEW)
    sweep.finish(2, files=OLD)
    session = sweep.told()
    assert marks(session) == [(), (MARK,), ()]
    assert [message.text for message in session.messages if message.level == "warning"] == [
        "files have changed: sane.py since case 1; case 2 isn't compared with those of older versions"
    ]


def test_files_of_a_failed_case_are_not_what_others_are_compared_with(stage: Begin) -> None:
    sweep = stage(**own())
    sweep.finish(0, "failed", files=OLD)
    sweep.finish(1, files=NEW)
    sweep.finish(2, files=NEW)
    assert marks(sweep.told()) == [(), (), ()]


def test_files_of_another_model_are_no_change(stage: Begin) -> None:
    sweep = stage(axes=Axes(model=("a", "b")))
    sweep.finish(0, files={"config.json": "a" * 16})
    sweep.finish(1, files={"config.json": "b" * 16})
    assert marks(sweep.told()) == [(), ()]


def test_rounds_measured_with_changed_files_are_counted(stage: Begin) -> None:
    sweep = stage(axes=Axes(), measure=Measure(rounds=3), **own())
    for files in (OLD, OLD, NEW):
        sweep.finish(0, files=files)
    assert marks(sweep.told()) == [(f"{MARK}, in 1 of 3 rounds",)]


def test_resumed_case_with_changed_files_is_marked(stage: Begin, resume: Begin) -> None:
    sweep = stage(axes=Axes(batch_size=(1, 2, 3)), **own())
    sweep.finish(0, files=OLD)
    sweep.finish(1, files=NEW)
    again = resume(sweep.cut())
    again.finish(2, files=NEW)
    assert marks(again.told()) == [(), (MARK,), (MARK,)]


def test_round_that_was_cut_short_is_not_what_others_are_compared_with(stage: Begin, resume: Begin) -> None:
    sweep = stage(axes=Axes(), measure=Measure(rounds=2), **own())
    sweep.finish(0, files=OLD)
    sweep.log.write(CasePrepared(t=9.0, case=0, model=Model(name="m"), files=NEW))
    again = resume(sweep.cut())
    again.finish(0, files=NEW)
    assert marks(again.told()) == [()], "the files of its first round aren't known any more"


def test_resume_refuses_changed_files_by_name_and_anyway_records_them(
    stage: Begin, tmp_path: Path, files: dict[str, str]
) -> None:
    sweep = stage(**own(tmp_path))
    sweep.finish(0, files=files)
    path = sweep.cut()
    host = sweep.session.start.host if sweep.session.started else Host()
    unchanged = ResumableSession(path, ResumeOptions(anyway=True))
    assert unchanged.resumed(host).files == ()
    unchanged.journal.close()
    (tmp_path / "near.py").write_text("changed")
    recorded, now = files["near.py"][:8], (file_digest(tmp_path / "near.py") or "")[:8]
    change = f"near.py: {recorded} → {now}"
    refused = ResumableSession(path, ResumeOptions())
    with pytest.raises(
        BenchtuiError, match=rf"^{path}: .*files have changed .*{change}; use --anyway to resume$"
    ):
        refused.resumed(host)
    refused.journal.close()
    allowed = ResumableSession(path, ResumeOptions(anyway=True))
    assert allowed.resumed(host).files == (change,)
    allowed.journal.close()


def test_retrying_refuses_files_that_measured_cases_used_otherwise(
    stage: Begin, tmp_path: Path, files: dict[str, str]
) -> None:
    sweep = stage(axes=Axes(batch_size=(1, 2)), **own(tmp_path))
    sweep.finish(0, files=files)
    sweep.finish(1, "failed", reason="why", files=files)
    (tmp_path / "sane.py").unlink()
    left = ResumableSession(sweep.cut(), ResumeOptions(retry_failed=True))
    with pytest.raises(BenchtuiError, match=r"sane\.py: [0-9a-f]{8} → missing; use --anyway"):
        left.resumed(Host())
    left.journal.close()


def test_retrying_after_nothing_was_measured_allows_a_mended_step(
    stage: Begin, tmp_path: Path, files: dict[str, str]
) -> None:
    sweep = stage(axes=Axes(), **own(tmp_path))
    sweep.finish(0, "failed", reason="why", files=files)
    (tmp_path / "sane.py").write_text("mended")
    left = ResumableSession(sweep.cut(), ResumeOptions(retry_failed=True, anyway=True))
    assert left.resumed(Host()).files == ()
    left.journal.close()


def test_files_of_a_model_with_nothing_left_to_run_do_not_matter(stage: Begin, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    sweep = stage(dataset="synthetic", axes=Axes(model=(str(folder), "b")))
    sweep.finish(0, files={"config.json": "a" * 16})
    left = ResumableSession(sweep.cut(), ResumeOptions(anyway=True))
    assert left.resumed(Host()).files == ()
    left.journal.close()


def test_rerun_refuses_changed_files(stage: Begin, tmp_path: Path, files: dict[str, str]) -> None:
    sweep = stage(**own(tmp_path))
    sweep.finish(0, files=files)
    assert execute(Command(command="again", cases=(0,)), sweep.scheduler) == (3,)
    (tmp_path / "sane.py").write_text("changed")
    with pytest.raises(
        BenchtuiError, match=r"^files have changed .*sane\.py: .*add a case with these options$"
    ):
        execute(Command(command="again", cases=(0,)), sweep.scheduler)
    assert len(sweep.scheduler.queue.cases) == 4
    sweep.told()


def test_case_whose_end_comes_without_files_is_left_as_it_is() -> None:
    versions = FileVersions(Sweep(name="s", model="m"))
    end = CaseFinished(t=1.0, case=0, outcome="ok")
    assert versions.end(end) is end
    assert versions.prepare(CasePrepared(t=1.0, case=0, model=Model(name="m")), Config(device="cpu")) is None
