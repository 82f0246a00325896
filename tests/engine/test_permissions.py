"""Engines run nothing and set nothing that the user hasn't allowed, whichever way they are started."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watching import ENDLESS, Watched, allowed

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.permissions import approved
from benchtui.sessions.permissions.needed import PermissionNeededError
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Sweep


@pytest.fixture
def engines() -> Iterator[list[Engine]]:
    started: list[Engine] = []
    yield started
    for engine in started:
        if engine.alive():
            os.kill(engine.pid, signal.SIGKILL)


@pytest.fixture
def marking(own: Callable[..., Sweep], tmp_path: Path) -> Callable[..., Sweep]:
    """A sweep whose step leaves a file if it is ever loaded, in an environment that leaves another."""
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "sitecustomize.py").write_text(f"open({str(tmp_path / 'set')!r}, 'w').close()\n")

    def make(*overrides: str) -> Sweep:
        sweep = own(
            "return Step(lambda: time.sleep(0.002 if case.batch_size == 1 else 60))",
            "threads=1",
            f"env.PYTHONPATH={planted}",
            *overrides,
        )
        file = tmp_path / "own.py"
        file.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n{file.read_text()}")
        return sweep

    return make


def harmless(folder: Path) -> bool:
    return not (folder / "ran").exists() and not (folder / "set").exists()


def needed(error: PermissionNeededError) -> list[str]:
    return [each.name for each in error.permissions]


def test_start_asks_for_code_and_variables_before_anything(
    home: Path, tmp_path: Path, marking: Callable[..., Sweep]
) -> None:
    session = home / "s.json"
    with pytest.raises(PermissionNeededError) as caught:
        client.start(marking(), session)
    assert needed(caught.value) == [str(tmp_path / "own.py"), "PYTHONPATH"]
    assert harmless(tmp_path) and not session.exists() and not approved.path().exists()
    assert not list(Path(os.environ["BENCHTUI_RUNTIME_DIR"]).iterdir())


def test_consent_to_other_code_is_none(
    home: Path, tmp_path: Path, marking: Callable[..., Sweep], tiny_sweep: Callable[..., Sweep]
) -> None:
    consent = allowed(tiny_sweep("task=other.py:make", "env.PYTHONPATH=/elsewhere"))
    with pytest.raises(PermissionNeededError) as caught:
        client.start(marking(), home / "s.json", consent)
    assert len(caught.value.permissions) == 2 and harmless(tmp_path)


def test_what_this_users_engine_ran_is_resumed_and_explained_without_a_question(
    home: Path,
    tmp_path: Path,
    marking: Callable[..., Sweep],
    engines: list[Engine],
    start: Callable[[Sweep], Watched],
) -> None:
    """The same session with another path asks: who wrote the file, and who owns it, doesn't matter."""
    watched = start(marking("batch_size=1,2", "iterations=5"))
    watched.until(lambda: watched.states == ["ok", "running"])
    watched.engine.stop()
    watched.until_ended()
    assert (tmp_path / "ran").exists() and (tmp_path / "set").exists()
    path = watched.engine.path
    for name in ("ran", "set"):
        (tmp_path / name).unlink()
    (tmp_path / "evil.py").write_text((tmp_path / "own.py").read_text())
    forged = home / "forged.json"
    forged.write_text(path.read_text().replace("/own.py:make", "/evil.py:make"))
    with pytest.raises(PermissionNeededError) as caught:
        client.resume(forged)
    assert needed(caught.value) == [str(tmp_path / "evil.py")] and harmless(tmp_path)
    with pytest.raises(PermissionNeededError) as caught:
        list(client.explain(forged, [0]).messages())
    assert needed(caught.value) == [str(tmp_path / "evil.py")] and harmless(tmp_path)
    before = forged.read_bytes()
    assert b"evil.py" in before and b"explained" not in before

    engines.append(client.resume(path))
    assert engines[0].resumed_s is not None
    engines[0].stop()


def test_resume_and_explain_ask_for_the_variables_of_added_cases(home: Path, recorded_session: Path) -> None:
    """They are in no plan, so that a look at the sweep alone would miss them."""
    with pytest.raises(PermissionNeededError) as caught:
        client.resume(recorded_session, anyway=True)
    assert needed(caught.value) == ["LD_PRELOAD"]
    with pytest.raises(PermissionNeededError) as caught:
        list(client.explain(recorded_session, [0], anyway=True).messages())
    assert needed(caught.value) == ["LD_PRELOAD"]


@pytest.fixture
def recorded_session(tmp_path: Path) -> Path:
    """The bundled session of a CPU as if it had been stopped, with an added case that sets a variable."""
    from benchtui.sessions.library.paths import CPU_DEMO, demo_path

    events = json.loads(demo_path(CPU_DEMO).read_text())
    started = events[0]
    started.pop("source", None)
    config = started["plan"][0] | {"env": "LD_PRELOAD=/elsewhere/none.so"}
    added = {"event": "case_added", "t": 1e6, "case": len(started["plan"]), "config": config, "why": "x"}
    kept = [event for event in events if event["event"] not in ("session_finished", "case_added")]
    path = tmp_path / "session.json"
    path.write_text("[\n" + ",\n".join(json.dumps(event) for event in [*kept, added]) + "\n]\n")
    assert any("LD_PRELOAD" in case.config.env for case in Session.load(path).cases)
    return path


def test_task_without_a_function_runs_no_file(home: Path, tmp_path: Path, recorded_session: Path) -> None:
    """Such a task only a forged session has; the worker would import the file before it misses the function."""
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    text = recorded_session.read_text()
    task = json.loads(text)[0]["sweep"].get("task", "classify")
    recorded_session.write_text(text.replace(f'"task": "{task}"', f'"task": "{tmp_path}/evil.py"'))
    for attempt in (
        lambda: client.resume(recorded_session, anyway=True),
        lambda: list(client.explain(recorded_session, [0], anyway=True).messages()),
    ):
        with pytest.raises(BenchtuiError, match="neither a step of your own"):
            attempt()
    assert harmless(tmp_path)


def test_added_case_sets_no_variable_that_was_not_allowed(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    sweep = tiny_sweep("env.ONE=1", *ENDLESS)
    watched = start(sweep)
    watched.until_steps(0)
    own, other = Config(device="cpu"), Config(device="cpu", env="TWO=2")
    assert watched.engine.add([own]) == (1,)
    with pytest.raises(PermissionNeededError) as caught:
        watched.engine.add([other])
    assert needed(caught.value) == ["TWO"]
    assert watched.engine.add([other], caught.value.consent) == (2,)
    assert watched.engine.add([other]) == (3,)
