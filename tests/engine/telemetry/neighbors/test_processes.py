import os
import pwd
from pathlib import Path

import pytest

from benchtui.engine.telemetry.neighbors import processes
from benchtui.engine.telemetry.neighbors.processes import (
    ProcessTime,
    busiest,
    children_below,
    named,
    process_times,
    used_s,
    user_of,
)
from benchtui.sessions.payloads import Neighbor

TICKS = os.sysconf("SC_CLK_TCK")


def write(proc: Path, pid: int, name: str, parent: int, used: tuple[float, float, float, float]) -> None:
    times = " ".join(str(round(each * TICKS)) for each in used)
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "stat").write_text(
        f"{pid} ({name}) S {parent} 1 1 0 -1 4 1 2 3 4 {times} 20 0 1 0 99 0 0"
    )
    (proc / str(pid) / "comm").write_text(f"{name}\n")


def test_processes_are_read_with_their_parents_and_the_time_of_ended_children(tmp_path: Path) -> None:
    write(tmp_path, 7, "tricky) S 1 (name", 1, (1.0, 0.5, 2.0, 0.25))
    write(tmp_path, 8, "plain", 7, (0.0, 0.0, 0.0, 0.0))
    (tmp_path / "9").mkdir()
    (tmp_path / "uptime").write_text("1 2")
    assert process_times(tmp_path) == {
        7: ProcessTime("tricky) S 1 (name", 1, 3.75),
        8: ProcessTime("plain", 7, 0.0),
    }
    assert process_times(tmp_path / "none") == {}
    assert used_s((7, 8, 9), tmp_path) == 3.75


def test_children_are_those_of_all_threads_and_of_their_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PROC", tmp_path)
    for thread, children in {"7/task/7": "8 9 ", "7/task/17": "10", "8/task/8": "11", "9/task/9": ""}.items():
        (tmp_path / thread).mkdir(parents=True)
        (tmp_path / thread / "children").write_text(children)
    below = children_below((7, 8))
    assert {pid: sorted(children) for pid, children in below.items()} == {
        7: [8, 9, 10],
        8: [11],
        9: [],
        10: [],
        11: [],
    }


def test_this_process_is_visible_here() -> None:
    own = process_times()[os.getpid()]
    assert own.parent == os.getppid() and own.used_s > 0
    assert user_of(os.getpid()) == pwd.getpwuid(os.getuid()).pw_name


PROCESSES = {
    1: ProcessTime("init", 0, 100.0),
    10: ProcessTime("engine", 1, 5.0),
    11: ProcessTime("fork server", 10, 3.0),
    20: ProcessTime("shell", 1, 0.5),
    21: ProcessTime("make", 20, 0.2),
    22: ProcessTime("cc1", 21, 30.0),
}


def percents(
    begin: dict[int, ProcessTime], end: dict[int, ProcessTime], span_s: float = 2.0
) -> dict[str, float]:
    return {each.name: each.cpu_percent or 0.0 for each in busiest(begin, end, span_s, own=10)}


def test_own_processes_are_no_neighbors() -> None:
    end = PROCESSES | {10: ProcessTime("engine", 1, 6.0), 12: ProcessTime("worker", 11, 4.0)}
    assert percents(PROCESSES, end) == {}


def test_busiest_processes_come_first_and_at_most_three_are_named() -> None:
    end = PROCESSES | {each: ProcessTime(f"p{each}", 1, each / 100) for each in (31, 32, 33, 34, 1)}
    assert percents(PROCESSES, end) == {"p34": 17.0, "p33": 16.5, "p32": 16.0}


def test_process_that_ended_is_counted_for_its_first_ancestor_that_is_left_since_the_first_reading() -> None:
    """The shell has waited for make, which has waited for cc1: it has their whole time at the end."""
    end = {pid: each for pid, each in PROCESSES.items() if pid < 20}
    end[20] = ProcessTime("shell", 1, 0.5 + 0.2 + 30.0 + 1.4)
    assert percents(PROCESSES, end) == {"shell": pytest.approx(70.0)}


def test_idle_processes_are_not_named() -> None:
    end = PROCESSES | {20: ProcessTime("shell", 1, 0.5199), 21: ProcessTime("make", 20, 0.221)}
    assert percents(PROCESSES, end) == {"make": pytest.approx(1.0, abs=0.1)}
    assert busiest(PROCESSES, end, 0.0, own=10) == ()


def test_use_is_that_of_the_span_with_one_decimal() -> None:
    end = {31: ProcessTime("new", 1, 0.005), 32: ProcessTime("newer", 1, 0.03086)}
    assert percents({}, end, span_s=0.5) == {"newer": 6.2, "new": 1.0}


def test_process_whose_ancestors_have_ended_as_well_is_counted_for_nobody() -> None:
    begin = {30: ProcessTime("orphan", 29, 5.0)}
    assert percents(begin, {31: ProcessTime("other", 1, 1.0)}) == {"other": 50.0}


def test_line_that_ends_before_the_times_is_no_process(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text("7 (cut) S 1 1 1 0 -1 4 1 2 3 4 10 10 10")
    assert process_times(tmp_path) == {}


def test_processes_that_a_driver_lists_are_named_if_they_are_visible(tmp_path: Path) -> None:
    write(tmp_path, 7, "python3", 1, (0.0, 0.0, 0.0, 0.0))
    user = pwd.getpwuid(tmp_path.stat().st_uid).pw_name
    assert named({7, 99}, tmp_path) == (Neighbor(name="python3", user=user),)
    for pid in (8, 9, 10):
        write(tmp_path, pid, "more", 1, (0.0, 0.0, 0.0, 0.0))
    assert [each.name for each in named({10, 9, 8, 7}, tmp_path)] == ["python3", "more", "more"]
    assert named(set(), tmp_path) == () and user_of(99, tmp_path) is None
