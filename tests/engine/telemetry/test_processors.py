import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchtui.engine.telemetry.processors import (
    busy_s,
    numa_nodes,
    numa_nodes_of,
    ranges,
    stolen_s,
    usable_processors,
)

TICKS = os.sysconf("SC_CLK_TCK")
STAT = f"""cpu  999 999 999 999 999 999 999 999 0 0
cpu0 {TICKS} 0 0 999 999 0 0 0 7 7
cpu2 {TICKS} {TICKS} {TICKS} 999 999 {TICKS} {TICKS} {TICKS} 7 7
cpu3 {9 * TICKS} 0 0 999 999 0 0 0
intr 5 6 7
"""


@pytest.fixture
def stat(tmp_path: Path) -> Path:
    file = tmp_path / "stat"
    file.write_text(STAT)
    return file


def test_busy_time_is_summed_by_number_with_offline_processors_left_out(stat: Path) -> None:
    assert busy_s({0, 2}, stat) == 7.0
    assert busy_s({3}, stat) == 9.0


def test_container_that_numbers_its_processors_from_0_owns_all_of_them(stat: Path) -> None:
    assert busy_s({40, 41, 42}, stat) == 16.0


def test_unlisted_processor_makes_the_busy_time_unknown(stat: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="doesn't list every processor"):
        busy_s({0, 1}, stat)
    (tmp_path / "stat").write_text("cpu 1 2 3 4\n")
    with pytest.raises(OSError, match="doesn't list every processor"):
        busy_s({0}, stat)


def test_stolen_time_is_that_of_the_processors_in_use(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    rows = [f"cpu{number} 900 0 0 900 0 0 0 {ticks} 0 0" for number, ticks in enumerate((300, 50, 7000))]
    stat.write_text("\n".join(["cpu  1 1 1 1 1 1 1 9999 0 0", *rows]))
    assert stolen_s({0, 1}, stat) == 350 / os.sysconf("SC_CLK_TCK")


def test_numa_nodes_of_processors_follow_the_kernels_links(tmp_path: Path) -> None:
    for number, node in ((0, 0), (1, 0), (2, 1), (3, 3)):
        (tmp_path / f"cpu{number}" / f"node{node}").mkdir(parents=True)
    assert numa_nodes_of({0, 1}, tmp_path) == "0"
    assert numa_nodes_of({1, 2, 3}, tmp_path) == "0-1,3"
    assert numa_nodes_of({9}, tmp_path) is None


def test_processors_are_listed_as_the_kernel_does() -> None:
    assert ranges({16, 0, 2, 1, 3, 18, 17, 9}) == "0-3,9,16-18"
    assert ranges(()) == ""


def test_numa_nodes_with_processors_are_listed_if_there_are_several(tmp_path: Path) -> None:
    assert numa_nodes(tmp_path) == {}
    for number, processors in ((0, "0-15,32-47"), (10, ""), (2, "48-63"), (1, "16-31")):
        (tmp_path / f"node{number}").mkdir()
        (tmp_path / f"node{number}" / "cpulist").write_text(f"{processors}\n")
        if not number:
            assert numa_nodes(tmp_path) == {}, "all processors are on one node"
    assert numa_nodes(tmp_path) == {"0": "0-15,32-47", "1": "16-31", "2": "48-63"}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes aren't bound to processors here")
def test_processors_of_all_threads_are_usable() -> None:
    script = """
import os, threading
from benchtui.engine.telemetry.processors import usable_processors
bound = threading.Event()
threading.Thread(target=bound.wait).start()
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print(len(usable_processors()))
bound.set()
"""
    assert int(subprocess.check_output([sys.executable, "-c", script])) == len(os.sched_getaffinity(0))


def test_busy_time_of_the_whole_machine_needs_no_list() -> None:
    before = sum(psutil.cpu_times()[:3])
    assert busy_s(None) >= before
    assert usable_processors() is None or busy_s(usable_processors()) > 0
