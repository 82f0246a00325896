"""Results for Bencher and github-action-benchmark."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from benchtui.sessions.export import tracking
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import measured

DEMO = Path(__file__).parents[3] / "sessions" / "library" / "demo" / "demo.json"
BMF_SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema",
    "type": "object",
    "patternProperties": {
        ".+": {
            "type": "object",
            "patternProperties": {
                ".+": {
                    "type": "object",
                    "properties": {
                        "value": {"type": "number"},
                        "lower_value": {"type": "number"},
                        "upper_value": {"type": "number"},
                    },
                    "required": ["value"],
                }
            },
        }
    },
}
"""https://bencher.dev/docs/reference/bencher-metric-format"""
GAB_SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "unit": {"type": "string"},
            "value": {"type": "number"},
            "range": {"type": "string"},
            "extra": {"type": "string"},
        },
        "required": ["name", "unit", "value"],
        "additionalProperties": False,
    },
}
"""Entries that extractCustomBenchmarkResult of github-action-benchmark reads."""


def bmf(session: Session) -> Any:
    found = json.loads(tracking.as_bmf(session))
    jsonschema.validate(found, BMF_SCHEMA)
    return found


def gab(session: Session) -> tuple[Any, Any]:
    found = json.loads(tracking.as_gab(session)), json.loads(tracking.as_gab_throughput(session))
    for each in found:
        jsonschema.validate(each, GAB_SCHEMA)
    return found


def test_every_measured_case_has_its_interval_as_bounds() -> None:
    session = Session.load(DEMO)
    found, (times, rates) = bmf(session), gab(session)
    assert len(found) == len(times) == len(rates) == len(measured(session))
    bounded = [metric for measures in found.values() for metric in measures.values() if len(metric) == 3]
    assert len(bounded) == 2 * len(found) - 4, "two cases of two rounds of 5 steps have none"
    for metric in bounded:
        assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]
    for result, (latency, rate) in zip(measured(session), map(dict.values, found.values()), strict=True):
        if result.typical_bounds:  # which holds fresh processes
            assert latency["lower_value"] == pytest.approx(result.typical_bounds.low * 1e6)
            assert rate["lower_value"] == result.metrics.samples_per_s_low
    for name, entry, rate in zip(found, times, rates, strict=True):
        assert entry["name"] == rate["name"] == name and name.startswith("SIMULATED ")
        assert found[name]["latency"]["value"] == entry["value"] * 1e6
        assert found[name]["throughput"]["value"] == rate["value"]
        assert (entry["unit"], rate["unit"]) == ("ms", "samples/s")
        assert set(found[name]) == {"latency", "throughput"}
        assert ("range" in entry) == ("lower_value" in found[name]["latency"])
        assert entry.get("range", "± ").startswith("± ")
        assert ("range" in rate) == ("lower_value" in found[name]["throughput"])


def test_failed_cases_are_left_out_and_names_are_unique(bench: Any) -> None:
    session = bench.session(
        bench.case(1, 10.0, label="same"),
        bench.case(2, 20.0, label="same"),
        bench.case(4, outcome="oom"),
        bench.case(8, outcome="skipped"),
    )
    assert list(bmf(session)) == ["cpu same", "cpu same #2"]
    assert [each["name"] for each in gab(session)[0]] == ["cpu same", "cpu same #2"]


def test_unknown_interval_is_left_out(bench: Any) -> None:
    session = bench.session(bench.case(1, [10.0]))
    (measures,) = bmf(session).values()
    assert measures["latency"] == {"value": 10e6}
    (entry,) = gab(session)[0]
    assert entry == {"name": entry["name"], "unit": "ms", "value": 10.0, "extra": "n = 1"}
