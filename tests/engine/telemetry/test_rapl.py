from pathlib import Path

import pytest

from benchtui.engine.telemetry.rapl import Rapl, rapl_absence


def domain(folder: Path, name: str, energy_uj: int, range_uj: int = 1_000_000) -> Path:
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    return folder / "energy_uj"


def test_packages_are_summed_separately_from_dram(tmp_path: Path) -> None:
    first = domain(tmp_path / "intel-rapl:0", "package-0", 100)
    second = domain(tmp_path / "intel-rapl:1", "package-1", 500_000)
    core = domain(tmp_path / "intel-rapl:0:0", "core", 7)
    dram = domain(tmp_path / "intel-rapl:0:1", "dram", 0)
    system = domain(tmp_path / "intel-rapl:2", "psys", 0)
    again = domain(tmp_path / "intel-rapl-mmio:0", "package-0", 100)
    rapl = Rapl(tmp_path)
    assert rapl.sample().package_j is not None
    start = rapl.sample()
    assert (start.package_j, start.dram_j) == (0.0, 0.0)
    for counter, energy_uj in ((first, 200_100), (second, 800_000), (dram, 50_000)):
        counter.write_text(str(energy_uj))
    for counter in (core, system, again):
        counter.write_text("900000")
    later = rapl.sample()
    assert later.package_j == pytest.approx(0.5)
    assert later.dram_j == pytest.approx(0.05)


def test_wrapped_counter_continues(tmp_path: Path) -> None:
    counter = domain(tmp_path / "intel-rapl:0", "package-0", 900_000)
    rapl = Rapl(tmp_path)
    counter.write_text("100000")
    assert rapl.sample().package_j == pytest.approx(0.2)
    counter.write_text("300000")
    assert rapl.sample().package_j == pytest.approx(0.4)


def test_lost_counter_makes_the_sum_none(tmp_path: Path) -> None:
    domain(tmp_path / "intel-rapl:0", "package-0", 0)
    gone = domain(tmp_path / "intel-rapl:1", "package-1", 0)
    rapl = Rapl(tmp_path)
    gone.unlink()
    sample = rapl.sample()
    assert (sample.package_j, sample.dram_j) == (None, None)


def test_missing_counters_read_as_none(tmp_path: Path) -> None:
    (tmp_path / "intel-rapl:0").mkdir()
    for folder in (tmp_path, tmp_path / "missing"):
        rapl = Rapl(folder)
        assert rapl.sample().package_j is None
        assert rapl.sample().package_j is None


def test_readable_packages_are_present(tmp_path: Path) -> None:
    domain(tmp_path / "intel-rapl:0", "package-0", 100)
    domain(tmp_path / "intel-rapl:0:0", "core", 7)
    assert rapl_absence(tmp_path) is None
    assert Rapl(tmp_path).sample().package_j == 0.0


@pytest.mark.parametrize("folders", [{}, {"intel-rapl-mmio:0": "package-0"}, {"intel-rapl:0": "psys"}])
def test_counters_that_are_not_of_packages_are_absent(tmp_path: Path, folders: dict[str, str]) -> None:
    (tmp_path / "intel-rapl").mkdir()
    for folder, name in folders.items():
        domain(tmp_path / folder, name, 100)
    reason = f"no energy counters on this kernel or virtual machine ({tmp_path}/intel-rapl:* not found)"
    assert rapl_absence(tmp_path) == reason
    assert Rapl(tmp_path).sample().package_j is None


@pytest.mark.parametrize("unreadable", [0, 1])
def test_one_unreadable_package_makes_the_energy_absent(tmp_path: Path, unreadable: int) -> None:
    """The sum of the others would pass for the energy of all."""
    counters = [domain(tmp_path / f"intel-rapl:{number}", f"package-{number}", 100) for number in (0, 1)]
    counters[unreadable].unlink()
    counters[unreadable].mkdir()
    assert rapl_absence(tmp_path) == f"{counters[unreadable]} cannot be read: Is a directory"
    assert Rapl(tmp_path).sample().package_j is None


def test_denied_counter_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    denied = domain(tmp_path / "intel-rapl:0", "package-0", 100)
    read = Path.read_text

    def refuse(path: Path, *how: str) -> str:
        if path == denied:
            raise PermissionError
        return read(path, *how)

    monkeypatch.setattr(Path, "read_text", refuse)
    reason = f"permission denied; allow it with: sudo chmod a+r {tmp_path}/intel-rapl:*/energy_uj"
    assert rapl_absence(tmp_path) == reason
