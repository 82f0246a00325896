"""What a sampled thread does follows from its system call; where it is, from its frames."""

import inspect
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from benchtui.engine.worker.explain import sampling
from benchtui.engine.worker.explain.sampling import SWITCH_S, Sampler
from benchtui.sessions.profiles import END


@pytest.mark.parametrize(
    ("call", "late_s", "activity"),
    [
        (["running"], 0.0, "native"),
        (["running"], SWITCH_S, "python"),
        (["230", "0x1"], 0.0, "sleep"),
        (["230", "0x1"], SWITCH_S, "sleep"),
        (["202", "0x7f"], SWITCH_S, "lock"),
        (["202", hex(sampling._RUNTIME_AT + 900)], 0.0, "python"),
        (["61", "0xffff"], 0.0, "process"),
        (["257", "0xffffff9c"], 0.0, "file"),
        (["0", "0xffffff"], 0.0, "wait"),
        (["999"], 0.0, "wait"),
        ([], SWITCH_S, "python"),
        ([], 0.0, "wait"),
    ],
)
def test_activity_of_a_system_call(
    monkeypatch: pytest.MonkeyPatch, call: list[str], late_s: float, activity: str
) -> None:
    """A thread that runs Python code waits for Python's lock, in ``futex``, while the sampler has it."""
    known = sampling._CALLS["x86_64"]
    numbers = {str(number): name for name, calls in known.items() for number in calls}
    monkeypatch.setattr(sampling, "_ACTIVITIES", numbers)
    assert sampling._activity(call, late_s) == activity


def test_waits_of_the_sampler_for_a_processor_are_not_for_the_lock() -> None:
    assert sampling._waited_s(["5000000", "2000000", "7"]) == 0.002
    assert sampling._waited_s([]) == 0.0, "no schedstat"


def test_descriptors_tell_files_from_pipes(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with (tmp_path / "data").open("w") as file:
        assert sampling._of_descriptor(["0", hex(reading)]) == "pipe"
        assert sampling._of_descriptor(["1", hex(file.fileno())]) == "file"
    assert sampling._of_descriptor(["0", "0xffffff"]) == "wait"
    os.close(reading)
    os.close(writing)


def test_sockets_within_the_machine_are_no_network() -> None:
    """A DataLoader gets tensors from its workers over one."""
    left, right = socket.socketpair()
    with left, right, socket.socket() as internet:
        assert sampling._of_descriptor(["0", hex(left.fileno())]) == "pipe"
        assert sampling._of_descriptor(["0", hex(internet.fileno())]) == "network"
        right.send(b"x")
        assert left.recv(1) == b"x"  # looking at it closed nothing


def test_place_is_the_users_line_with_the_librarys_function() -> None:
    frame = inspect.currentframe()
    assert frame is not None
    sample = sampling._sample(frame, "python")
    assert (Path(sample.file).name, sample.within) == (Path(__file__).name, "")
    place = sampling._place(sample, 0.25)
    assert place.where == f"test_sampling.py:{sample.line}" and "_sample(frame" in place.code


def test_frame_of_a_library_has_the_line_that_called_it() -> None:
    """A thread that waits for an event stands in threading.py."""
    ready, done = threading.Event(), threading.Event()

    def wait() -> None:
        ready.set()
        done.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    ready.wait()
    samples = set[tuple[str, str]]()
    while not any(within == "threading.py wait" for _, within in samples):
        frame = sys._current_frames()[thread.ident or 0]
        sample = sampling._sample(frame, "lock")
        samples.add((Path(sample.file).name, sample.within))
    done.set()
    thread.join()
    assert ("test_sampling.py", "threading.py wait") in samples


def sampled_in(file: str) -> sampling._Sample:
    """Sample a thread in a function of another file, called here."""
    names: dict[str, Any] = {}
    exec(compile("def call(then):\n    return then()", file, "exec"), names)
    return names["call"](lambda: sampling._sample(sys._getframe(1), "python"))  # type: ignore[no-any-return]


def test_packages_of_another_environment_are_no_code_of_the_users() -> None:
    sample = sampled_in("/opt/env/lib/python3.11/site-packages/library.py")
    assert (Path(sample.file).name, sample.within) == ("test_sampling.py", "library.py call")
    assert Path(sampled_in("/home/me/library.py").file).name == "library.py"


def test_thread_that_has_left_the_step_is_at_its_end() -> None:
    engine = Path(sampling.__file__).parents[2]
    for caller in ("worker/explain/profiling.py", "workloads/own/task.py"):
        assert sampling._place(sampled_in(str(engine / caller)), 0.5).where == "the end of the step"


def test_sampler_finds_the_line_of_a_busy_thread() -> None:
    sampler = Sampler()
    with sampler.running():
        while not sampler._seconds:  # to ask for its places would be sampled, too
            sum(range(1000))
    places = sampler.places()
    assert sum(place.share for place in places) == pytest.approx(1.0, abs=0.01)
    assert {place.where.partition(":")[0] for place in places} <= {"test_sampling.py", "threading.py", END}


def test_samples_are_split_by_whether_an_operator_ran() -> None:
    sampler, line = Sampler(), ("own.py", 7, "")
    native, lock, python = (sampling._Sample(*line, kind) for kind in ("native", "lock", "python"))  # type: ignore[arg-type]
    sampler._seconds.update({native: 0.6, lock: 0.2, python: 0.2})
    sampler._moments_ns.update({native: [15, 25, 31, 99], lock: [12], python: [35]})
    shares = sampler.shares_within([(10, 20), (30, 40)])
    assert shares == {native: 0.5, lock: 1.0, python: 1.0}
    assert {(place.activity, place.share) for place in sampler.places(shares)} == {
        ("operator", 0.5),
        ("native", 0.3),
        ("python", 0.2),
    }, "an operator that runs Python code is at that code"
