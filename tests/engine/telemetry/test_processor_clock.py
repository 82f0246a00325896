from pathlib import Path

import pytest

from benchtui.engine.telemetry.processor_clock import BusyClock, ThrottleCounts, clock_absences, core_types


def write(file: Path, text: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")


def stat(file: Path, *busy_ticks: int) -> None:
    write(file, "\n".join(f"cpu{number} {ticks} 0 0 900 0 0 0 0" for number, ticks in enumerate(busy_ticks)))


def frequencies(cpus: Path, *mhz: int) -> None:
    for number, each in enumerate(mhz):
        write(cpus / f"cpu{number}" / "cpufreq" / "scaling_cur_freq", each * 1000)


def test_clock_is_that_of_the_busy_processors(tmp_path: Path) -> None:
    frequencies(tmp_path, 4000, 2000, 800, 5000)
    clock = BusyClock({0, 1, 2}, tmp_path, tmp_path / "stat")
    stat(tmp_path / "stat", 100, 100, 100, 100)
    assert clock.mhz() is None, "there is no span yet"
    stat(tmp_path / "stat", 130, 110, 100, 900)
    assert clock.mhz() == 3500.0, "the third was idle, and the fourth may not be used"
    assert clock.mhz() is None, "nothing was busy"


def test_clock_is_unknown_where_the_kernel_has_no_frequencies(tmp_path: Path) -> None:
    clock = BusyClock({0, 1}, tmp_path, tmp_path / "stat")
    stat(tmp_path / "stat", 100, 100)
    clock.mhz()
    stat(tmp_path / "stat", 200, 200)
    assert clock.mhz() is None


def test_only_the_busiest_processors_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchtui.engine.telemetry.processor_clock.MAX_READ", 2)
    frequencies(tmp_path, 1000, 3000, 3000)
    clock = BusyClock({0, 1, 2}, tmp_path, tmp_path / "stat")
    stat(tmp_path / "stat", 0, 0, 0)
    clock.mhz()
    stat(tmp_path / "stat", 10, 20, 20)
    assert clock.mhz() == 3000.0


def throttles(cpus: Path, number: int, *, package: int, core: int, counts: tuple[int, int]) -> None:
    folder = cpus / f"cpu{number}"
    write(folder / "topology" / "physical_package_id", package)
    write(folder / "topology" / "core_id", core)
    write(folder / "thermal_throttle" / "core_throttle_count", counts[0])
    write(folder / "thermal_throttle" / "package_throttle_count", counts[1])


def test_throttling_is_counted_once_per_core_and_package(tmp_path: Path) -> None:
    for number, (core, counts) in enumerate([(0, (2, 7)), (0, (2, 7)), (1, (3, 6))]):
        throttles(tmp_path, number, package=0, core=core, counts=counts)
    throttles(tmp_path, 3, package=1, core=0, counts=(100, 100))
    assert ThrottleCounts({0, 1, 2}, tmp_path).total() == 7 + 2 + 3
    assert ThrottleCounts(None, tmp_path).total() == 12 + 200


def test_throttling_is_unknown_where_the_kernel_does_not_count_it(tmp_path: Path) -> None:
    write(tmp_path / "cpu0" / "topology" / "core_id", 0)
    assert ThrottleCounts({0}, tmp_path).total() is None


def test_missing_clock_and_counts_have_a_reason(tmp_path: Path) -> None:
    missing = clock_absences(tmp_path)
    assert list(missing) == ["processor clock", "processor throttling"]
    assert "cpufreq/scaling_cur_freq not found" in missing["processor clock"]
    frequencies(tmp_path, 1000)
    assert list(clock_absences(tmp_path)) == ["processor throttling"]
    throttles(tmp_path, 0, package=0, core=0, counts=(0, 0))
    assert clock_absences(tmp_path) == {}


def test_cores_of_hybrid_processors_are_named(tmp_path: Path) -> None:
    assert core_types(tmp_path) == {}
    write(tmp_path / "cpu_core" / "cpus", "0-15")
    assert core_types(tmp_path) == {}, "a processor without E cores"
    write(tmp_path / "cpu_atom" / "cpus", "16-23")
    assert core_types(tmp_path) == {"P": "0-15", "E": "16-23"}


def test_cores_without_names_are_told_apart_by_capacity(tmp_path: Path) -> None:
    for number, capacity in enumerate([700, 700, 1024, 700]):
        write(tmp_path / "system" / "cpu" / f"cpu{number}" / "cpu_capacity", capacity)
    assert core_types(tmp_path) == {"capacity 1024": "2", "capacity 700": "0-1,3"}
