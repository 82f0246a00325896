import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from journals import write_journal
from msgspec import inspect

from benchtui.sessions.events import SCHEMA, AnyEvent, CaseFinished, CaseStarted, Steps
from benchtui.sessions.payloads import FILE_NAMES, Gpu, GpuReadings
from benchtui.sessions.sweep import Config

TEXT = "“odd” \x1b[31m"


def filled(kind: inspect.Type) -> Any:
    """Make a value of a type, with every field but the version of the schema, and no empty collection."""
    match kind:
        case inspect.StructType(cls=cls, fields=fields):
            return cls(**{each.name: filled(each.type) for each in fields if each.name != "schema"})
        case inspect.UnionType(types=types):
            return filled(next(each for each in types if not isinstance(each, inspect.NoneType)))
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return (filled(item),) if isinstance(kind, inspect.VarTupleType) else [filled(item)]
        case inspect.TupleType(item_types=items):
            return tuple(map(filled, items))
        case inspect.DictType(key_type=key, value_type=value):
            return {filled(key): filled(value)}
        case inspect.LiteralType(values=values):
            return values[0]
    plain = {inspect.StrType: TEXT, inspect.BoolType: True, inspect.IntType: 1, inspect.FloatType: 2.5}
    return plain[type(kind)]


FULL: tuple[AnyEvent, ...] = tuple(filled(inspect.type_info(kind)) for kind in AnyEvent.__args__)
"""Every event, with all of its fields."""

text = st.text(st.characters(exclude_categories=["Cs"]))
times_ms = st.floats(0, 1e18)


def round_trip(event: AnyEvent) -> AnyEvent:
    found: AnyEvent = msgspec.json.decode(msgspec.json.encode(event), type=AnyEvent)
    return found


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.schema(list[AnyEvent])["$defs"][kind.__name__]
    return found


@pytest.mark.parametrize("event", FULL, ids=lambda event: type(event).__name__)
def test_event_with_every_field_survives_a_round_trip(event: AnyEvent) -> None:
    assert round_trip(event) == event


@given(st.data())
def test_any_steps_survive_a_round_trip(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 5))

    def column(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
        return st.lists(values, min_size=n, max_size=n)

    steps = st.builds(
        Steps,
        t=st.floats(0, 1e9),
        case=st.integers(0, 10**18),
        phase=st.sampled_from(["warmup", "measure"]),
        wall_ms=column(times_ms),
        device_ms=st.none() | column(times_ms),
        host_ms=st.none() | column(times_ms),
        parts_ms=st.dictionaries(text, column(times_ms), max_size=3),
        tokens=st.none() | column(st.integers(0, 10**18)),
    )
    event = data.draw(steps)
    assert round_trip(event) == event


@given(text, text)
def test_any_text_survives_a_round_trip(reason: str, line: str) -> None:
    event = CaseFinished(t=0.0, case=0, outcome="failed", reason=reason, stderr_line=line)
    assert round_trip(event) == event
    assert b"\n" not in msgspec.json.encode(event)


def test_file_contains_its_schema_version() -> None:
    assert json.loads(msgspec.json.encode(FULL[0]))["schema"] == SCHEMA == 3


def test_case_lists_all_options_and_steps_their_round() -> None:
    started = json.loads(msgspec.json.encode(CaseStarted(t=0.0, case=0, config=Config(device="cpu"))))
    assert started["config"].keys() == set(Config.__struct_fields__)
    steps = json.loads(msgspec.json.encode(Steps(t=0.0, case=0, phase="warmup", wall_ms=[])))
    assert (steps["phase"], steps["round"]) == ("warmup", 0)


def test_journal_follows_the_schema(tmp_path: Path) -> None:
    write_journal(tmp_path / "s.json", FULL)
    schema = msgspec.json.schema(list[AnyEvent])
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads((tmp_path / "s.json").read_text()), schema)


@pytest.mark.parametrize(
    "wrong",
    [
        {"event": "steps", "t": 0.0, "case": 0, "phase": "cool-down", "wall_ms": []},
        {"event": "steps", "t": 0.0, "case": 0, "phase": "measure", "wall_ms": [-1.0]},
        {"event": "steps", "t": 0.0, "phase": "measure", "wall_ms": []},
        {"event": "case_finished", "t": 0.0, "case": 0, "outcome": "lost"},
        {"event": "message", "t": "now", "level": "info", "text": ""},
        {"t": 0.0},
    ],
)
def test_schema_rejects_what_the_reader_rejects(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([wrong], msgspec.json.schema(list[AnyEvent]))
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(wrong), type=AnyEvent)


@pytest.mark.parametrize("kind", AnyEvent.__args__)
def test_schema_describes_every_event_and_field(kind: type[msgspec.Struct]) -> None:
    schema = schema_of(kind)
    assert schema["properties"].keys() == {"event", *kind.__struct_fields__}
    assert schema["properties"]["event"]["enum"] == [kind.__struct_config__.tag]
    assert schema["description"] == (kind.__doc__ or "").strip()
    assert {"$ref": f"#/$defs/{kind.__name__}"} in msgspec.json.schema(list[AnyEvent])["items"]["anyOf"]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('{"event":"message","t":-1,"level":"info","text":""}', r"\$\.t"),
        ('{"event":"message","t":1e300,"level":"info","text":""}', r"\$\.t"),
        ('{"event":"steps","t":0,"case":99999999999999999999,"phase":"measure","wall_ms":[]}', r"\$\.case"),
        ('{"event":"steps","t":0,"case":0,"phase":"measure","wall_ms":[1e300]}', r"\$\.wall_ms\[0\]"),
        ('{"event":"steps","t":0,"case":0,"phase":"measure","wall_ms":[1],"tokens":[1e2]}', r"\$\.tokens\[0\]"),
        (
            '{"event":"case_started","t":0,"case":0,"config":{"device":"cpu","batch_size":0}}',
            r"config\.batch_size",
        ),
    ],
)
def test_out_of_range_numbers_are_rejected_naming_the_field(line: str, field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.json.decode(line, type=AnyEvent)


OLD_READINGS = (
    b'{"index":0,"utilisation_percent":[90.0],"absent":{"utilisation_percent":"late","sm_clock_mhz":"no"}}'
)


def test_older_spelling_of_utilization_is_read_and_no_longer_written() -> None:
    readings = msgspec.json.decode(OLD_READINGS, type=GpuReadings)
    assert readings.utilization_percent == [90.0]
    assert readings.reasons == {"utilization_percent": "late", "graphics_clock_mhz": "no"}
    written = json.loads(msgspec.json.encode(readings))
    assert written["utilization_percent"] == [90.0] and "utilisation_percent" not in written


def test_readings_of_gpus_keep_their_names_in_files() -> None:
    names = {
        "graphics_clock_mhz": "sm_clock_mhz",
        "graphics_clock_least_mhz": "sm_clock_least_mhz",
        "graphics_clock_default_mhz": "sm_clock_default_mhz",
        "graphics_clock_default_is_highest": "sm_clock_default_is_highest",
        "graphics_clock_best_mhz": "sm_clock_best_mhz",
        "compute_active_percent": "sm_active_percent",
        "occupancy_percent": "sm_occupancy_percent",
        "link_rx_mb_per_s": "nvlink_rx_mb_per_s",
        "link_tx_mb_per_s": "nvlink_tx_mb_per_s",
    }
    assert {name: written for name, written in FILE_NAMES.items() if name != written} == names
    gpu = Gpu(index=0, name="A", graphics_clock_mhz=2.0, graphics_clock_is_highest=True)
    assert json.loads(msgspec.json.encode(gpu)) == {
        "index": 0,
        "name": "A",
        "sm_clock_mhz": 2.0,
        "sm_clock_is_highest": True,
    }
