"""Disks and folders that fail under a running engine: what is there stays readable, and the user is told."""

import os
import resource
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import light
import msgspec
import psutil
import pytest
from watching import PATIENCE_S, Watched, wait_gone

from benchtui.engine import client
from benchtui.engine.control import Answer, runtime_folder
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.report import markdown
from benchtui.sessions.session import Session

Begin = Callable[..., Watched]


def fill(watched: Watched, room: int) -> None:
    """Let the session file grow by this many bytes and no more, as on a disk that is full then."""
    limit = watched.engine.path.stat().st_size + room
    resource.prlimit(watched.engine.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


@pytest.mark.parametrize("room", [0, 10, 300, 2000])
def test_a_full_disk_ends_the_sweep_and_leaves_what_was_written(begin: Begin, room: int) -> None:
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
    assert watched.engine.last_words() == f"{path}: the session can't be written any further: File too large"


def test_a_full_disk_is_told_in_the_record_where_there_is_room(begin: Begin) -> None:
    watched = begin(light.sweep(cases=1, steps=1_000_000))
    watched.until_steps(0)
    fill(watched, 500)
    watched.until_ended()
    assert watched.session.messages[-1].text == "the record ends here, unfinished: File too large"


def test_a_disk_that_is_full_from_the_start_is_told(begin: Begin, home: Path) -> None:
    (home / "full").mkdir()
    process = light.launch(home / "full" / "s.json", light.sweep(), {light.ROOM: "400"}, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as pipe:
        answer = msgspec.json.decode(pipe.read(), type=Answer)
    assert (process.wait(PATIENCE_S), answer.ok) == (2, False)
    assert (
        answer.error == f"{home / 'full' / 's.json'}: the session can't be written any further: File too large"
    )
    with pytest.raises(BenchtuiError, match=r"s\.json: not a session file"):
        Session.load(home / "full" / "s.json")


def test_a_session_file_that_is_removed_ends_the_sweep(begin: Begin) -> None:
    watched = begin(light.sweep(cases=50))
    watched.until(lambda: watched.session.done)
    shutil.rmtree(watched.engine.path.parent)
    watched.until_ended()
    said = watched.engine.last_words()
    assert said == f"{watched.engine.path}: the session can't be written any further: the file was removed"


def test_a_folder_that_becomes_read_only_changes_nothing_for_a_sweep_that_runs(begin: Begin) -> None:
    watched = begin(light.sweep(cases=10))
    watched.until(lambda: watched.session.done)
    watched.engine.path.chmod(0o400)
    watched.engine.path.parent.chmod(0o500)
    session = watched.until_ended()
    assert watched.states == ["ok"] * 10
    assert session.finished is not None and session.finished.outcome == "completed"


def test_the_command_tells_of_a_full_disk_in_one_line(home: Path, command: str, tiny_model: Path) -> None:
    (home / "tiny.toml").write_text(f'model = "{tiny_model}"\nweights = "random"\n[measure]\npeaks = false\n')
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
    assert "the engine is gone and the record was cut off: " in line
    assert "the session can't be written any further: File too large" in line
    assert "Traceback" not in rest


def test_everything_an_engine_makes_is_the_users_alone(begin: Begin) -> None:
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
def test_a_runtime_folder_that_is_not_the_users_is_refused_in_one_line(
    home: Path, command: str, monkeypatch: pytest.MonkeyPatch, what: str
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
        ran = subprocess.run(
            [command, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, cwd=home
        )
        assert ran.returncode == 2
        assert ran.stderr.count("\n") == 1 and f"{place}: the runtime folder " in ran.stderr
    assert not list(home.glob("elsewhere/*"))


@pytest.mark.parametrize("what", ["open", "long"])
def test_a_runtime_folder_for_all_or_too_long_for_a_socket_is_refused_before_anything_is_made(
    home: Path, command: str, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, what: str
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
        ran = subprocess.run(
            [command, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, cwd=home
        )
        assert ran.returncode == 2
        assert ran.stderr.count("\n") == 1 and f"{place}: the runtime folder has " in ran.stderr
    assert not (home / "s.json").exists()
    if what == "open":
        assert stat.S_IMODE(place.stat().st_mode) == 0o1777
        assert sorted(path.name for path in place.iterdir()) == ["x.log", "x.sock"]
    else:
        assert not place.exists()
