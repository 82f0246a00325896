"""A few seconds of the fuzzer, properties of the readers under any text, and every fault it ever found."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import fuzz
import msgspec
import pytest
import readers
import typed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import AnyEvent
from benchtui.sessions.sweep.toml_reader import parse_sweep

SAME_FOLDER = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
OFTEN_FOREIGN = ("session", "import")
"""Kinds of files that people get from others; those of all kinds are fuzzed in the long tests."""
KEPT = Path(__file__).parent / "kept"
"""Files that once were a fault, by kind."""


@pytest.mark.parametrize(
    ("kind", "count"), [(kind, 10 * weight) for kind, (weight, _, _) in fuzz.KINDS.items()]
)
def test_broken_files_are_read_or_rejected(kind: str, count: int) -> None:
    found = fuzz.run(fuzz.Task(20261121, kind), range(count))
    assert {name: told for name, (told, _) in found.faults.items()} == {}
    assert found.counts[f"{kind} read"], "the fuzzer leaves some whole"


@pytest.mark.parametrize(("kind", "count"), [(kind, 10 * weight) for kind, (weight, _) in typed.MAKERS.items()])
def test_well_typed_files_are_read_or_rejected(kind: str, count: int) -> None:
    found = fuzz.run(fuzz.Task(20261123, kind, typed=True), range(count))
    assert {name: told for name, (told, _) in found.faults.items()} == {}
    assert found.counts[f"{kind} read"] > count / 15, "most get past the first reader that looks"


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in OFTEN_FOREIGN else pytest.mark.long) for kind in readers.READERS],
)
def test_a_megabyte_made_to_be_expensive_costs_a_second_and_200_mb_at_most(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the gate runs on slow and busy machines; reading in the square of the length would take minutes
    monkeypatch.setattr(fuzz, "MOST_COST_S", 8.0)
    found = fuzz.run_costly(kind, range(2), every=False)
    assert {name: told for name, (told, _) in found.faults.items()} == {}
    assert found.counts, "files were read"


@pytest.mark.parametrize("waste", ["time", "memory", "error"])
def test_reader_that_costs_too_much_is_found(
    waste: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "ATTEMPTS", 1)

    def read(_path: Path, _dice: random.Random) -> None:
        match waste:
            case "time":
                while time.process_time() < began_s + 1.2:
                    pass
            case "memory":
                bytes(bytearray(b"x") * 250_000_000)
            case _:
                raise ZeroDivisionError

    began_s = 0.0
    fault = fuzz.cost(read, b"", tmp_path).fault
    assert fault is not None
    assert {"time": " s and ", "memory": " MB", "error": "ZeroDivisionError"}[waste] in fault


def test_every_event_and_field_is_generated() -> None:
    missing = {
        (str(kind.__struct_config__.tag), field.encode_name)
        for kind in AnyEvent.__args__
        for field in msgspec.structs.fields(kind)
    }
    for number in range(1_000):
        _, data = fuzz.made(fuzz.Task(1, "session", typed=True), number)
        for line in data.decode().splitlines()[1:-1]:
            event = json.loads(line.removesuffix(","))
            missing -= {(event["event"], name) for name in event}
        if not missing:
            return
    assert missing == set()


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
def test_hundred_thousand_well_typed_files_are_read_or_rejected() -> None:
    script = fuzz.__file__
    ran = subprocess.run(
        [sys.executable, script, "--typed", "--count", "100000"], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout[-5000:]


@pytest.mark.parametrize("path", sorted(KEPT.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_former_faults_are_read_or_rejected(path: Path, tmp_path: Path) -> None:
    readers.load_libraries()  # a second, which is not the time of the first file that is compared or drawn
    found = fuzz.examine(path.parent.name, path.read_bytes(), tmp_path, random.Random(0), every=True)
    assert {name: told for name, (told, _) in found.faults.items()} == {}


def read_all(kind: str, data: bytes, folder: Path) -> None:
    (folder / "file").write_bytes(data)
    for read in readers.OF_KINDS[kind]:
        try:
            read(folder / "file", random.Random(0))
        except BenchtuiError as error:
            assert readers.refused_in_one_line(error)


@SAME_FOLDER
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_rejected_as_session_and_results(tmp_path: Path, data: bytes) -> None:
    read_all("session", data, tmp_path)
    read_all("import", data, tmp_path)


@SAME_FOLDER
@given(
    st.dictionaries(
        st.sampled_from(
            ["name", "model", "task", "dataset", "device", "batch_size", "warmup", "until", "env.A"]
        ),
        st.text(max_size=30) | st.integers() | st.floats() | st.booleans(),
    )
)
def test_arbitrary_entries_make_a_sweep_or_are_rejected(tmp_path: Path, entries: dict[str, object]) -> None:
    overrides = [f"{key}={value}" for key, value in entries.items()]
    try:
        parse_sweep('model = "m"', "test", overrides)
    except BenchtuiError as error:
        assert readers.refused_in_one_line(error)


@SAME_FOLDER
@given(st.text(max_size=200))
def test_arbitrary_text_is_rejected_as_settings_theme_or_sweep(tmp_path: Path, text: str) -> None:
    for kind in ("settings", "theme", "sweep"):
        read_all(kind, text.encode("utf-8", "replace"), tmp_path)
