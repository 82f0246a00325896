"""Disks and folders that fail under a running engine: what is there stays readable, and the user is told."""

import os
import resource
import shutil
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import light
import msgspec
import psutil
import pytest
from forked import Forked
from watching import PATIENCE_S, Watched, wait_gone

from benchtui.engine import client
from benchtui.engine.control import Answer, ResumeOptions, runtime_folder
from benchtui.sessions.events import CaseFinished
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.tui.cli.text import progress

Begin = Callable[..., Watched]


def fill(watched: Watched, room: int) -> None:
    """Let the session file grow by this many bytes and no more, as on a disk that is full then."""
    limit = watched.engine.path.stat().st_size + room
    resource.prlimit(watched.engine.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


@pytest.mark.parametrize("room", [0, 300])
def test_full_disk_ends_the_sweep_and_keeps_written_data(begin: Begin, room: int) -> None:
    watched = begin(light.sweep(cases=50, steps=200))
    watched.until(lambda: watched.session.done)
    below = psutil.Process(watched.engine.pid).children(recursive=True)
    fill(watched, room)
    watched.until_ended()
    for process in below:
        wait_gone(process.pid)
    session = Session.load(watched.engine.path)
    assert session.cut_off and not session.torn
    assert session.cases[0].state == "ok" and len(session.cases[0].measured) == 200
    assert markdown(session)
    path = watched.engine.path
    assert watched.engine.last_words() == f"{path}: can't write the session file: File too large"


def test_full_disk_is_recorded_if_there_is_room(begin: Begin) -> None:
    watched = begin(light.sweep(cases=1, steps=1_000_000))
    watched.until_steps(0)
    fill(watched, 500)
    watched.until_ended()
    assert watched.session.messages[-1].text == "the session file ends here, incomplete: File too large"


def test_disk_full_from_the_start_is_reported(begin: Begin, home: Path) -> None:
    (home / "full").mkdir()
    process = light.launch(home / "full" / "s.json", light.sweep(), {light.ROOM: "400"}, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as pipe:
        answer = msgspec.json.decode(pipe.read(), type=Answer)
    assert (process.wait(PATIENCE_S), answer.ok) == (2, False)
    assert answer.error == f"{home / 'full' / 's.json'}: can't write the session file: File too large"
    assert not list((home / "full").glob("*.json")), "an empty session would stand in the way of the next try"


def test_removed_session_folder_ends_the_sweep(begin: Begin) -> None:
    watched = begin(light.sweep(cases=50))
    watched.until(lambda: watched.session.done)
    shutil.rmtree(watched.engine.path.parent)
    watched.until_ended()
    said = watched.engine.last_words()
    assert said == f"{watched.engine.path}: can't write the session file: the file was removed"


def test_read_only_folder_does_not_affect_a_running_sweep(begin: Begin) -> None:
    watched = begin(light.sweep(cases=10))
    watched.until(lambda: watched.session.done)
    watched.engine.path.chmod(0o400)
    watched.engine.path.parent.chmod(0o500)
    session = watched.until_ended()
    assert watched.states == ["ok"] * 10
    assert session.finished is not None and session.finished.outcome == "completed"


def test_run_command_reports_a_full_disk_in_one_line(home: Path, command: str, tiny_model: Path) -> None:
    (home / "tiny.toml").write_text(
        f'model = "{tiny_model}"\nweights = "random"\n[run]\nwait_for_quiet = "off"\n[measure]\npeaks = false\n'
    )
    process = subprocess.Popen(
        [command, "run", "tiny.toml", "--set", "iterations=1000000", "-o", "s.json"],
        cwd=home,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "starts: " not in process.stderr.readline():
        assert process.poll() is None
    watched = Watched(client.running()[0])
    watched.until_steps(0)
    fill(watched, 1000)
    watched.until_ended()
    _, rest = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    (line,) = (line for line in rest.splitlines() if "1 case: " in line)
    assert "the engine crashed, and the session is incomplete: " in line
    assert "can't write the session file: File too large" in line
    assert "Traceback" not in rest


def test_files_made_by_an_engine_are_private(begin: Begin) -> None:
    before = os.umask(0)
    try:
        watched = begin(light.sweep(name="hang"))
        watched.until(lambda: watched.session.started)
        files = [watched.engine.path, *runtime_folder().glob("*.sock")]
        assert len(files) == 2
        assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600, 0o600]
        assert stat.S_IMODE(runtime_folder().stat().st_mode) == 0o700
        watched.engine.stop()
        watched.until_ended()
    finally:
        os.umask(before)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a folder to somebody else")
@pytest.mark.parametrize("what", ["folder", "link", "file"])
def test_foreign_runtime_folder_is_rejected_in_one_line(
    home: Path, forked: Forked, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    place = home / "runtime"
    if what == "folder":
        place.mkdir()
        os.chown(place, 12345, 12345)
    elif what == "link":
        (home / "elsewhere").mkdir()
        place.symlink_to(home / "elsewhere")
    else:
        place.write_text("")
    monkeypatch.setenv("BENCHTUI_RUNTIME_DIR", str(place))
    for arguments in (["run", "quick"], ["attach", "--plain"], ["stop"], ["sessions"]):
        ran = forked.run(arguments, home, os.environ)
        said = ran.stderr.decode()
        assert ran.returncode == 2
        assert said.count("\n") == 1 and f"{place}: " in said and "the runtime folder" in said
    assert not list(home.glob("elsewhere/*"))


def truncate(path: Path) -> None:
    os.truncate(path, 0)


def replace(path: Path) -> None:
    path.with_name("edited").write_text("[]\n")
    path.with_name("edited").replace(path)


def replace_moved(path: Path) -> None:
    path.rename(path.with_name("moved.json"))
    path.write_text("[]\n")


def remove(path: Path) -> None:
    path.unlink()


def add_to(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"something else")


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (truncate, "the file was truncated"),
        (replace, "the file was replaced"),
        (replace_moved, "the file was replaced"),
        (remove, "the file was removed"),
        (add_to, "another process wrote to the file"),
    ],
)
def test_damaged_session_file_is_kept_and_continued_in_a_rescue_file(
    begin: Begin, damage: Callable[[Path], None], what: str
) -> None:
    watched = begin(light.sweep(cases=10, steps=200))
    path = watched.engine.path
    watched.until(lambda: watched.session.done > 0)
    damage(path)
    damaged = path.read_bytes() if path.exists() else None
    saved = path.with_name("s.rescued.json")
    watched.until(saved.exists)
    assert [engine.path for engine in client.running()] == [saved]
    watched.until_ended()
    assert watched.states == ["ok"] * 10, "a reader of the old file goes on in the new one"
    session = Session.load(saved)
    assert session.finished is not None and session.finished.outcome == "completed"
    assert [len(case.measured) for case in session.cases] == [200] * 10
    told = [message.text for message in session.messages if message.level == "error"]
    assert told == [f"{path}: {what} during the sweep; the whole session continues in {saved}"]
    assert (path.read_bytes() if path.exists() else None) == damaged, "what others wrote is theirs"
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert {each.name for each in path.parent.iterdir()} <= {
        "s.json",
        "s.json.steps",
        "s.rescued.json",
        "moved.json",
    }


@pytest.mark.parametrize("text", [b"", b"something else\n"])
def test_following_a_damaged_file_shows_the_whole_sweep(begin: Begin, text: bytes) -> None:
    watched = begin(light.sweep(cases=4, steps=200))
    session = Session(metrics)
    seen = []
    for event in progress.follow(watched.engine, session):
        seen.append(event)
        if isinstance(event, CaseFinished) and event.case == 0:
            if text:
                with watched.engine.path.open("ab") as file:
                    file.write(text)
            else:
                os.truncate(watched.engine.path, 0)
    assert [case.state for case in session.cases] == ["ok"] * 4
    saved = watched.engine.path.with_name("s.rescued.json")
    said = progress.summary_line(session, watched.engine.path, watched.engine)
    assert said == f"4 cases: 4 ok; session {saved}"


def test_session_damaged_twice_continues_in_a_third_file(begin: Begin) -> None:
    watched = begin(light.sweep(cases=12, steps=200))
    path = watched.engine.path
    watched.until(lambda: watched.session.done > 1)
    truncate(path)
    saved = path.with_name("s.rescued.json")
    watched.until(saved.exists)
    time.sleep(0.2)
    truncate(saved)
    watched.until_ended()
    assert watched.states == ["ok"] * 12
    session = Session.load(path.with_name("s.rescued-2.json"))
    assert session.finished is not None and len(session.messages) >= 2


def test_resumed_session_is_rescued_whole(begin: Begin) -> None:
    watched = begin(light.sweep(cases=6, steps=700))
    watched.until(lambda: watched.session.done > 1)
    watched.engine.stop()
    watched.until_ended()
    process = light.launch(watched.engine.path, ResumeOptions(anyway=True), session_id="again")
    again = Watched(client.Engine("again", watched.engine.path, process.pid))
    again.until(lambda: again.session.resumed)
    truncate(watched.engine.path)
    again.until_ended()
    process.wait()
    assert again.states == ["ok"] * 6
    session = Session.load(watched.engine.path.with_name("s.rescued.json"))
    assert [case.state for case in session.cases] == ["ok"] * 6


def test_moved_session_file_is_continued_in_place(begin: Begin) -> None:
    watched = begin(light.sweep(cases=4, steps=100))
    watched.until(lambda: watched.session.done)
    moved = watched.engine.path.with_name("moved.json")
    watched.engine.path.rename(moved)
    watched.until_ended()
    assert [case.state for case in Session.load(moved).cases] == ["ok"] * 4
    assert not list(moved.parent.glob("*.rescued*"))


@pytest.mark.parametrize("what", ["open", "long"])
def test_public_or_overlong_runtime_folder_is_rejected_before_anything_is_created(
    home: Path, forked: Forked, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    place = home / ("runtime" if what == "open" else "r" * 120)
    if what == "open":
        place.mkdir()
        place.chmod(0o1777)
        (place / "x.sock").touch()
        (place / "x.log").touch()
    (home / "tiny.toml").write_text(f'model = "{tiny_model}"\nweights = "random"\n')
    monkeypatch.setenv("BENCHTUI_RUNTIME_DIR", str(place))
    for arguments in (["run", "tiny.toml", "-o", "s.json"], ["attach", "--plain"], ["stop"], ["sessions"]):
        ran = forked.run(arguments, home, os.environ)
        assert ran.returncode == 2
        reason = (
            "the runtime folder has mode" if what == "open" else "the path of the runtime folder is too long"
        )
        said = ran.stderr.decode()
        assert said.count("\n") == 1 and f"{place}: {reason} " in said
    assert not (home / "s.json").exists()
    if what == "open":
        assert stat.S_IMODE(place.stat().st_mode) == 0o1777
        assert sorted(path.name for path in place.iterdir()) == ["x.log", "x.sock"]
    else:
        assert not place.exists()


@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("big.toml", ("plan", "big.toml"), 2),
        ("config/benchtui/config.toml", ("keys",), 0),
        ("config/benchtui/themes/big.toml", ("themes",), 0),
    ],
)
def test_file_larger_than_a_megabyte_is_named_in_one_line(
    forked: Forked, home: Path, name: str, arguments: tuple[str, ...], status: int
) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# comment\n" * 110_000)
    ran = forked.run(arguments, home, os.environ)
    assert ran.returncode == status
    (line,) = (line for line in (ran.stderr + ran.stdout).decode().splitlines() if "larger than 1 MB" in line)
    assert path.name in line
