from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.compare.environment_diff import Difference, changes, differences, without_files
from benchtui.sessions.events import Resumed, Runtime
from benchtui.sessions.payloads import Environment, Gpu, Host, Model
from benchtui.sessions.report.document import markdown
from benchtui.sessions.sweep import Measure, Sweep, Train

BOX = Host(hostname="box", platform="Linux", packages={"torch": "2.9", "numpy": "2.1"})


def found(bench: Any, *hosts: Host, sweeps: tuple[Sweep, ...] = ()) -> dict[str, Difference]:
    made = [
        bench.session(bench.case(1, 1.0), host=host, sweep=sweep)
        for host, sweep in zip(hosts, sweeps or (None,) * len(hosts), strict=True)
    ]
    return {row.what: row for row in differences(made)}


def test_identical_sessions_have_no_differences(bench: Any) -> None:
    assert found(bench, BOX, BOX) == {}


def versions(bench: Any, *files: dict[str, str], models: tuple[Any, ...] = ()) -> Any:
    """A session of cases that used these files, and loaded these models."""
    more = [{"model": model} for model in models] or [{} for _ in files]
    return bench.session(
        *(
            bench.case(size, 1.0, prepared={"files": used}, **each)
            for size, (used, each) in enumerate(zip(files, more, strict=True), 1)
        )
    )


def test_versions_of_files_are_work(bench: Any) -> None:
    old, new = {"a.json": "1" * 16, "same": "0" * 16}, {"a.json": "2" * 16, "same": "0" * 16}
    assert differences([versions(bench, old), versions(bench, new)]) == (
        Difference("work", "a.json of tiny", ("11111111", "22222222")),
    )
    mixed = differences([versions(bench, old), versions(bench, old, new)])
    assert [row.values for row in mixed] == [("11111111", "11111111 or 22222222")]


def test_other_names_of_one_model_are_no_difference(bench: Any) -> None:
    def named(name: str, weights: str, **place: str) -> Any:
        loaded = Model(name=name, **place)  # type: ignore[arg-type]
        made = versions(bench, {"config.json": "1" * 16, "weights": weights}, models=(loaded,))
        made.started = replace(made.start, sweep=replace(made.start.sweep, model=name))
        return made

    hub = named("org/m", "2" * 16, source="hub", revision="1a")
    assert differences([hub, named("/models/m", "2" * 16, source="folder")]) == ()
    other = differences([hub, named("/models/m", "3" * 16, source="folder")])
    assert [row.what for row in other] == ["Model", "Configuration source", "Revision"]


def test_files_that_a_session_did_not_record_are_no_difference(bench: Any) -> None:
    recorded, old = versions(bench, {"a.json": "1" * 16}), versions(bench, {})
    assert differences([recorded, old]) == ()
    assert (without_files(recorded), without_files(old)) == (False, True)


def test_replaced_model_of_a_session_is_a_difference(bench: Any) -> None:
    small, large = (Model(name="tiny", parameters=each) for each in (11_826, 37_858))
    files: dict[str, str] = {}
    whole, mixed = (versions(bench, files, files, models=models) for models in ((small, small), (small, large)))
    assert differences([whole, mixed]) == (Difference("work", "Parameters", ("11,826", "11,826 or 37,858")),)


def test_machine_and_gpus_are_compared(bench: Any) -> None:
    gpu = Host(
        hostname="gpu-box",
        platform="Linux",
        gpus=(Gpu(index=0, name="T4", graphics_clock_mhz=1590),),
        driver="570.1",
    )
    rows = found(bench, BOX, gpu)
    assert rows["Host"] == Difference("machine", "Host", ("box", "gpu-box"))
    assert rows["GPU 0"].values == (None, "T4")
    assert rows["GPU 0 clock"].values == (None, "1,590 MHz")
    assert rows["GPU driver"] == Difference("software", "GPU driver", (None, "570.1"))
    assert rows["numpy"].values == ("2.1", None)
    assert "Platform" not in rows


def test_clocks_and_types_of_cores_are_compared(bench: Any) -> None:
    def machine(**differs: Any) -> Host:
        return Host(gpus=(Gpu(index=0, name="T4", **differs),))

    clocks = {"memory_clock_mhz": 5001.0, "application_clock_mhz": 1590.0}
    rows = found(bench, machine(), machine(**clocks))
    assert rows["GPU 0"].values == ("T4", "T4, application clocks SM 1,590 MHz")
    assert rows["GPU 0 memory clock"].values == (None, "5,001 MHz")
    both = {**clocks, "application_memory_clock_mhz": 5001.0}
    assert found(bench, machine(), machine(**both))["GPU 0"].values[1] == (
        "T4, application clocks SM 1,590 MHz and memory 5,001 MHz"
    )
    hybrid = found(bench, Host(), Host(core_types={"P": "0-15", "E": "16-23"}))
    assert hybrid["Core types"].values == (None, "P: 0-15; E: 16-23")


def test_affinity_of_the_workers_and_numa_nodes_are_compared(bench: Any) -> None:
    sockets = Host(numa_nodes={"0": "0-15", "1": "16-31"})

    def bound(*affinities: str | None) -> Any:
        ends = [{"environment": Environment(affinity=affinity)} for affinity in affinities]
        return bench.session(*(bench.case(1, 1.0, end=end) for end in ends), host=sockets)

    rows = {row.what: row.values for row in differences([bound("0-15"), bound("16-31", None, "0-31")])}
    assert rows == {"CPU affinity": ("0-15", "16-31 or 0-31")}
    assert found(bench, Host(), sockets)["NUMA nodes"].values == (None, "0: 0-15; 1: 16-31")
    assert differences([bound(None), bound(None)]) == (), "sessions that didn't record it"
    full, short = (markdown(bound("0-15"), full=full) for full in (True, False))
    assert "- **CPU affinity**: 0-15" in full and "- **NUMA nodes**: 0: 0-15; 1: 16-31" in full
    assert "affinity" not in short and "NUMA" not in short


def test_another_affinity_is_no_change_of_the_machine(bench: Any) -> None:
    end = {"environment": Environment(affinity="0-3")}
    session = bench.session(bench.case(1, 1.0, end=end), host=LARGE)
    assert changes(session, LARGE, None) == (), "a job may get other CPUs of the same machine"


def test_torch_version_is_listed_once(bench: Any) -> None:
    made = [
        bench.session(bench.case(1, 1.0), host=BOX, more=(Runtime(t=1.0, torch=version),))
        for version in ("2.9", "2.10")
    ]
    assert [row.what for row in differences(made)] == ["PyTorch"]


def test_versions_of_the_runtime_are_software(bench: Any) -> None:
    plain, amd = bench.session(bench.case(1, 1.0)), bench.session(bench.case(1, 1.0))
    amd.apply(Runtime(t=0.0, torch="2.8", hip="6.4", cuda="12.8", cudnn=91_000, transformers="4.57", threads=2))
    assert {row.what: row.group for row in differences([plain, amd])} == dict.fromkeys(
        ("CUDA", "HIP (ROCm)", "cuDNN", "PyTorch", "Transformers", "Torch threads"), "software"
    )


def test_work_settings_and_environment_are_listed_after_the_machine(bench: Any) -> None:
    one = Sweep(name="a", model="bert", env={"OMP_NUM_THREADS": "4"}, measure=Measure(rounds=1))
    other = Sweep(name="b", model="gpt2", weights="random", measure=Measure(rounds=3, until_percent=1.0))
    rows = found(bench, BOX, Host(hostname="other", platform="Linux"), sweeps=(one, other))
    groups = [row.group for row in rows.values()]
    assert groups == sorted(groups, key=("machine", "software", "work", "settings").index)
    assert rows["Model"].values == ("bert", "gpt2")
    assert rows["Weights"].values == ("pretrained", "random")
    assert rows["rounds"].values == ("1", "3")
    assert rows["until percent"].values == ("none", "1.0")
    assert rows["env OMP_NUM_THREADS"].values == ("4", None)
    assert "baseline" not in rows


def test_task_options_differ_only_for_their_task(bench: Any) -> None:
    sweeps = tuple(Sweep(name="a", model="m", task="lm-train", train=Train(accumulation=n)) for n in (1, 4))
    assert found(bench, BOX, BOX, sweeps=sweeps)["train accumulation"].values == ("1", "4")
    others = tuple(Sweep(name="a", model="m", train=Train(accumulation=n)) for n in (1, 4))
    assert found(bench, BOX, BOX, sweeps=others) == {}


LARGE = Host(hostname="box", python="3.11.7", memory_mb=64_000.0, gpus=(Gpu(index=0, name="T4"),))


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (LARGE, ()),
        (replace(LARGE, memory_mb=64_500.0, absent={"rapl": "permission denied"}), ()),
        (replace(LARGE, memory_mb=32_000.0), ("Memory: 59.6 GiB → 29.8 GiB",)),
        (replace(LARGE, hostname="spare", python="3.12.1"), ("Host: box → spare", "Python: 3.11.7 → 3.12.1")),
        (replace(LARGE, gpus=()), ("GPU 0: T4 → none",)),
        (replace(LARGE, packages={"numpy": "2.2"}), ("numpy: none → 2.2",)),
        (replace(LARGE, container_cpus=2.0), ("Container CPU limit: none → 2.00",)),
    ],
)
def test_changes_are_listed_but_unreadable_values_are_not(
    bench: Any, now: Host, expected: tuple[str, ...]
) -> None:
    session = bench.session(bench.case(1, 1.0), host=LARGE)
    assert changes(session, now, None) == expected


def test_changes_are_relative_to_the_last_resume(bench: Any) -> None:
    spare = replace(LARGE, hostname="spare")
    resumed = Resumed(t=50.0, created="", host=spare, version="0.2", cases=())
    session = bench.session(bench.case(1, 1.0), host=LARGE, finished=None, more=(resumed,))
    assert changes(session, spare, "0.2") == ()
    assert changes(session, LARGE, "0.3") == ("Host: spare → box", "benchtui: 0.2 → 0.3")


TUNED = replace(
    LARGE,
    governor="performance",
    driver="550.1",
    core_types={},
    gpus=(Gpu(index=0, name="T4", power_limit_w=70.0, graphics_clock_mhz=1590.0, memory_clock_mhz=5001.0),),
)


@pytest.mark.parametrize(("before", "now"), [(TUNED, LARGE), (LARGE, TUNED)])
def test_value_that_cannot_be_read_is_not_a_change(bench: Any, before: Host, now: Host) -> None:
    session = bench.session(bench.case(1, 1.0), host=before)
    assert changes(session, now, None) == ()


def test_value_is_compared_with_the_last_one_that_could_be_read(bench: Any) -> None:
    unreadable = Resumed(t=50.0, created="", host=LARGE, version=None, cases=())
    session = bench.session(bench.case(1, 1.0), host=TUNED, finished=None, more=(unreadable,))
    assert changes(session, TUNED, None) == ()
    assert changes(session, replace(TUNED, driver="560.2"), None) == ("GPU driver: 550.1 → 560.2",)
    assert changes(session, replace(LARGE, governor="powersave"), None) == (
        "Governor: performance → powersave",
    )


def test_changed_environment_variable_is_a_change_unless_it_was_not_recorded(bench: Any) -> None:
    plain, tuned = (replace(LARGE, environment=each) for each in ({}, {"OMP_NUM_THREADS": "4"}))
    session = bench.session(bench.case(1, 1.0), host=plain)
    assert changes(session, tuned, None) == ("env OMP_NUM_THREADS: none → 4",)
    assert changes(session, plain, None) == ()
    unrecorded = bench.session(bench.case(1, 1.0), host=LARGE)
    assert changes(unrecorded, tuned, None) == ()


def test_state_of_a_gpu_is_compared(bench: Any) -> None:
    sessions = [
        bench.session(bench.case(1, 1.0), host=replace(LARGE, gpus=(Gpu(index=0, name="T4", ecc=ecc),)))
        for ecc in (True, False)
    ]
    (difference,) = differences(sessions)
    assert difference.values == ("T4, ECC on", "T4, ECC off")
