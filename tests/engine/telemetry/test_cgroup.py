from pathlib import Path

import pytest

from benchtui.engine.telemetry.cgroup import (
    QuotaUse,
    cpu_limit,
    group_folders,
    memory_limit_mb,
    most_stopping,
    quota_uses,
)


class Machine:
    """A process in a control group of a file system made up for it."""

    def __init__(self, folder: Path) -> None:
        self.at = folder / "cgroup"
        self._process = folder / "self"
        self._process.mkdir()

    def put(self, cgroup: str, *mounts: str) -> None:
        lines = ["22 1 8:1 / / rw - ext4 /dev/vda rw", *(mount.format(at=self.at) for mount in mounts)]
        (self._process / "cgroup").write_text(cgroup)
        (self._process / "mountinfo").write_text("\n".join(lines))

    def write(self, name: str, text: str) -> None:
        file = self.at / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def folders(self, controller: str = "cpu") -> tuple[Path, ...]:
        return group_folders(controller, self._process)

    def inside(self, controller: str = "cpu") -> list[str]:
        return [str(folder.relative_to(self.at)) for folder in self.folders(controller)]


V2 = "30 22 0:26 / {at} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"
V1_CPU = "31 22 0:27 / {at}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"
V1_MEMORY = "32 22 0:28 / {at}/memory rw - cgroup cgroup rw,memory"
V2_BESIDE = "33 22 0:29 / {at}/unified rw - cgroup2 cgroup2 rw"
V1_GROUPS = "9:name=systemd:/s\n4:memory:/slurm/job\n1:cpu,cpuacct:/slurm/job\n0::/s\n"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nested_groups_of_version_2_limit_by_the_lowest(machine: Machine) -> None:
    machine.put("0::/system.slice/slurm/job 7\n", V2)
    assert machine.inside() == ["system.slice/slurm/job 7", "system.slice/slurm", "system.slice", "."]
    assert (cpu_limit(machine.folders()), memory_limit_mb(machine.folders("memory"))) == (None, None)
    machine.write("system.slice/slurm/job 7/cpu.max", "max 100000")
    machine.write("system.slice/slurm/cpu.max", "250000 100000")
    machine.write("system.slice/cpu.max", "800000 100000")
    machine.write("system.slice/slurm/job 7/memory.max", "2000000000")
    machine.write("system.slice/memory.max", "max")
    assert (cpu_limit(machine.folders()), memory_limit_mb(machine.folders("memory"))) == (2.5, 2000.0)


def test_controllers_of_version_1_have_hierarchies_of_their_own(machine: Machine) -> None:
    machine.put(V1_GROUPS, V2_BESIDE, V1_CPU, V1_MEMORY)
    assert machine.inside() == ["cpu,cpuacct/slurm/job", "cpu,cpuacct/slurm", "cpu,cpuacct"]
    machine.write("cpu,cpuacct/slurm/job/cpu.cfs_quota_us", "50000")
    machine.write("cpu,cpuacct/slurm/job/cpu.cfs_period_us", "100000")
    machine.write("memory/slurm/memory.limit_in_bytes", "1000000")
    machine.write("memory/memory.limit_in_bytes", "9223372036854771712")
    assert (cpu_limit(machine.folders()), memory_limit_mb(machine.folders("memory"))) == (0.5, 1.0)
    machine.write("cpu,cpuacct/slurm/job/cpu.cfs_quota_us", "-1")
    assert cpu_limit(machine.folders()) is None


@pytest.mark.parametrize(
    ("group", "root", "inside"),
    [
        ("/", "/", ["."]),
        ("/docker/ab", "/docker/ab", ["."]),
        ("/docker/ab/job", "/docker/ab", ["job", "."]),
        ("/docker/ab", "/other", ["."]),
        ("/../ab", "/", ["."]),
    ],
)
def test_group_is_found_as_far_as_the_container_mounts_it(
    machine: Machine, group: str, root: str, inside: list[str]
) -> None:
    machine.put(f"0::{group}\n", V2.replace(" / {at}", f" {root} {{at}}"))
    assert machine.inside() == inside


def test_without_control_groups_nothing_is_limited(machine: Machine) -> None:
    assert machine.inside() == []
    machine.put("", V2)
    assert machine.inside() == []
    assert (cpu_limit(()), memory_limit_mb(()), quota_uses(())) == (None, None, {})


def test_use_of_every_quota_is_read_the_lowest_first(machine: Machine) -> None:
    machine.put("0::/slurm/job\n", V2)
    machine.write("slurm/job/cpu.stat", "usage_usec 5\nnr_periods 70\nnr_throttled 7\nthrottled_usec 7000000")
    assert quota_uses(machine.folders()) == {}, "there is no quota"
    machine.write("slurm/cpu.max", "400000 100000")
    assert quota_uses(machine.folders()) == {}, "the group with the quota has no totals"
    machine.write("slurm/cpu.stat", "usage_usec 5\nnr_periods 50\nnr_throttled 40\nthrottled_usec 2500000")
    parent = {machine.at / "slurm": QuotaUse(50, 40, 2.5)}
    assert quota_uses(machine.folders()) == parent
    machine.write("slurm/job/cpu.max", "100000 100000")
    both = quota_uses(machine.folders())
    assert list(both.items()) == [(machine.at / "slurm" / "job", QuotaUse(70, 7, 7.0)), *parent.items()]


def test_quota_that_stopped_its_group_most_often_counts() -> None:
    own, parent, other = Path("slurm/job"), Path("slurm"), Path()
    begin = {own: QuotaUse(70, 7, 7.0), parent: QuotaUse(50, 40, 2.5)}
    assert most_stopping(begin, begin) == QuotaUse(0, 0, 0.0)
    still = {own: QuotaUse(90, 7, 7.0), parent: QuotaUse(80, 40, 2.5), other: QuotaUse(9, 9, 9.0)}
    assert most_stopping(begin, still) == QuotaUse(20, 0, 0.0), "the lowest quota"
    stopped = {own: QuotaUse(90, 8, 99.0), parent: QuotaUse(80, 55, 4.0)}
    assert most_stopping(begin, stopped) == QuotaUse(30, 15, 1.5)
    assert most_stopping({}, stopped) is None


def test_version_1_counts_nanoseconds(machine: Machine) -> None:
    machine.put(V1_GROUPS, V1_CPU)
    for name, text in (
        ("cpu.cfs_quota_us", "50000"),
        ("cpu.cfs_period_us", "100000"),
        ("cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000"),
    ):
        machine.write(f"cpu,cpuacct/slurm/job/{name}", text)
    assert list(quota_uses(machine.folders()).values()) == [QuotaUse(9, 3, 1.5)]
