"""The catalogue: each row is complete, and names a source that the session file documents."""

from collections import Counter
from typing import Any, get_args, get_type_hints

import msgspec

from benchtui.sessions import events
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.metrics.catalogue import BY_KEY, CATALOGUE, EXPORTED
from benchtui.sessions.payloads import GPU_ACTIVITY, HOST_ACTIVITY

UNITS = {
    "samples_per_s": "samples/s",
    "samples_per_s_low": "samples/s",
    "samples_per_s_high": "samples/s",
    "tokens_per_s": "tokens/s",
    "mb_per_s": "MB/s",
    "per_sample_j": "J/sample",
    "per_sample_mb": "MB/sample",
    "per_sample_low_j": "J/sample",
    "per_sample_high_j": "J/sample",
    "ms": "ms",
    "s": "s",
    "mb": "MB",
    "mhz": "MHz",
    "percent": "%",
    "w": "W",
    "j": "J",
    "c": "°C",
    "db": "dB",
}
"""Unit by the end of a key, the longest ends first."""
UNITS_ONLY_HERE = {
    "answer_kl_mean": "nats",
    "answer_kl_p99": "nats",
    "samples_per_mb": "",
    "tokens_per_mb": "",
    "samples_per_j": "",
    "energy_per_1000_tokens_j": "J per 1,000 tokens",
}
"""Units that aren't the end of the key, or are part of the title."""
EVENTS = {event.__struct_config__.tag: event for event in events.Event.__subclasses__()}


def structs(kind: object) -> list[type[msgspec.Struct]]:
    """Every record that a field's type allows, such as of ``tuple[AnswerComparison, ...] | None``."""
    found = [kind] if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else []
    return found + [record for part in get_args(kind) for record in structs(part)]


def is_recorded(source: str) -> bool:
    event, *fields = source.split(".")
    records: list[Any] = [EVENTS[event]] if event in EVENTS else []
    for field in fields:
        hints = [get_type_hints(record).get(field) for record in records]
        if not any(hint is not None for hint in hints):
            return False
        records = [record for hint in hints for record in structs(hint)]
    return bool(EVENTS.get(event))


def unit_of_key(key: str) -> str:
    return next((unit for end, unit in UNITS.items() if f"_{key}".endswith(f"_{end}")), "")


def test_every_quantity_has_a_title_a_help_and_a_subject() -> None:
    assert not [row.key for row in CATALOGUE if not row.title or not row.subject]
    assert not [row.key for row in CATALOGUE if len(row.help) < 10 and row.subject != "options"]
    assert not [
        row.key for row in CATALOGUE if row.title[0].islower() and not row.title.startswith(("n", "p99"))
    ]


def test_every_quantity_is_read_from_a_field_of_the_session_file() -> None:
    assert not [row.reading.source for row in CATALOGUE if not is_recorded(row.reading.source)]


def test_a_source_that_is_not_in_the_session_file_is_noticed() -> None:
    assert is_recorded("case_finished.memory.peak_rss_mb")
    assert not is_recorded("case_finished.memory.peak_rss_gb")
    assert not is_recorded("case_ended.memory")


def test_the_unit_is_at_the_end_of_the_key() -> None:
    units = {row.key: UNITS_ONLY_HERE.get(row.key, unit_of_key(row.key)) for row in CATALOGUE}
    assert {row.key: row.unit for row in CATALOGUE} == units


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


def test_every_hardware_counter_is_in_the_catalogue() -> None:
    counters = [row.key for row in CATALOGUE if row.subject == "counters"]
    assert counters == [*GPU_ACTIVITY, *HOST_ACTIVITY]
