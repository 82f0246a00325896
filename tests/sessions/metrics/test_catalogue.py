"""The catalogue: each row is complete, and names a source that the session file documents."""

from collections import Counter
from typing import Any, get_args

import msgspec

from benchtui.sessions import events
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.metrics.catalogue import BY_KEY, CATALOGUE, EXPORTED

EVENTS = {event.__struct_config__.tag: event for event in events.Event.__subclasses__()}


def structs(kind: object) -> list[type[msgspec.Struct]]:
    """Every record that a field's type allows, such as of ``tuple[AnswerComparison, ...] | None``."""
    found = [kind] if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else []
    return found + [record for part in get_args(kind) for record in structs(part)]


def is_recorded(source: str) -> bool:
    """Whether an event has the field, by the names that the file has."""
    event, *names = source.split(".")
    records: list[Any] = [EVENTS[event]] if event in EVENTS else []
    for name in names:
        fields = [field for record in records for field in msgspec.structs.fields(record)]
        kinds = [field.type for field in fields if field.encode_name == name]
        if not kinds:
            return False
        records = [record for kind in kinds for record in structs(kind)]
    return event in EVENTS


def test_every_quantity_has_a_title_a_help_and_a_subject() -> None:
    assert not [row.key for row in CATALOGUE if not row.title or not row.subject]
    assert not [row.key for row in CATALOGUE if len(row.help) < 10 and row.subject != "options"]
    assert not [
        row.key for row in CATALOGUE if row.title[0].islower() and not row.title.startswith(("n", "p99"))
    ]


def test_every_quantity_is_read_from_a_field_of_the_session_file() -> None:
    assert not [row.reading.source for row in CATALOGUE if not is_recorded(row.reading.source)]


def test_the_unit_is_at_the_end_of_the_key() -> None:
    keys = {
        "samples_per_s": "samples/s",
        "samples_per_s_low": "samples/s",
        "energy_per_sample_high_j": "J/sample",
        "peak_memory_low_mb": "MB",
        "temperature_c": "°C",
        "nvlink_rx_mb_per_s": "MB/s",
        "graphs": "",
        "speedup_low": "",
    }
    assert {key: BY_KEY[key].unit for key in keys} == keys


def test_the_better_direction_and_the_format_follow_from_the_unit() -> None:
    assert (BY_KEY["tokens_per_s"].better, BY_KEY["kv_cache_mb"].better) == ("higher", "lower")
    assert (BY_KEY["mean_power_w"].better, BY_KEY["kv_cache_mb"].format) == (None, "memory")


def test_keys_are_unique_and_intervals_name_two_of_them() -> None:
    assert not [key for key, times in Counter(row.key for row in CATALOGUE).items() if times > 1]
    bounds = [key for row in CATALOGUE for key in row.interval or ()]
    assert bounds and set(bounds) <= set(BY_KEY)
    assert all(BY_KEY[key].unit == row.unit for row in CATALOGUE for key in row.interval or ())


def test_a_title_names_one_quantity() -> None:
    headings = Counter(row.heading() for row in CATALOGUE)
    assert not [heading for heading, times in headings.items() if times > 1]


def test_the_heading_names_the_unit_once() -> None:
    assert BY_KEY["samples_per_s"].heading() == "Throughput (samples/s)"
    assert BY_KEY["samples_per_s"].heading(short=True) == "Samples/s"
    assert BY_KEY["latency_p50_ms"].heading(short=True) == "p50 (ms)"
    assert BY_KEY["graphs"].heading(short=True) == "Graphs"


def test_exports_have_every_exported_quantity_in_order() -> None:
    assert CaseRow.__struct_fields__ == tuple(row.key for row in EXPORTED)
    described = msgspec.json.schema(CaseRow)["$defs"]["CaseRow"]["properties"]
    assert {key: field["description"] for key, field in described.items()} == {
        row.key: row.help for row in EXPORTED
    }
