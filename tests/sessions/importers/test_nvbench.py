"""Results of NVBench: states of ``python/scripts/test_ref.json`` of NVIDIA/nvbench, a file of its tests.

It is under the Apache License 2.0 with LLVM exceptions. Benchmarks and states were left out, and a path was
replaced.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.importers.registry import detect
from benchtui.sessions.report.document import markdown

FILE = Path(__file__).parents[2] / "fixtures" / "nvbench.json"


def states() -> list[tuple[str, dict[str, Any]]]:
    return [
        (bench["name"], state)
        for bench in json.loads(FILE.read_text("utf-8"))["benchmarks"]
        for state in bench["states"]
    ]


def case_name(name: str, state: dict[str, Any]) -> str:
    return f"cuda:{state['device']} {name} {state['name'].partition(' ')[2]}"


def value(state: dict[str, Any], tag: str) -> float:
    (summary,) = (each for each in state["summaries"] if each["tag"] == tag)
    return float(summary["data"][0]["value"])


def test_figures_are_those_of_the_file(imported: Any) -> None:
    assert detect(FILE) == "nvbench"
    found = {row.name: row for row, _ in rows(imported(FILE))}
    timed = {case_name(name, state): state for name, state in states() if state["summaries"]}
    assert set(timed) <= set(found)
    for name, state in timed.items():
        mean_ms = 1000 * value(state, "nv/cold/time/gpu/mean")
        assert found[name].n == value(state, "nv/cold/sample_size")
        assert found[name].latency_mean_ms == pytest.approx(mean_ms, rel=1e-12)
        noise = value(state, "nv/cold/time/gpu/stdev/relative")
        assert found[name].latency_std_ms == pytest.approx(mean_ms * noise, rel=1e-12)
        assert (found[name].latency_p50_ms, found[name].samples_per_s, found[name].batch_size) == (
            None,
            None,
            None,
        )


def test_skipped_state_is_a_skipped_case_with_its_reason(imported: Any) -> None:
    skipped = [case for case in imported(FILE).cases if case.state == "skipped"]
    assert {case.finished.reason for case in skipped} == {"Not a conversion: InputType == OutputType"}
    assert len(skipped) == sum(state["is_skipped"] for _, state in states())


def test_only_states_with_the_same_axes_are_compared(imported: Any) -> None:
    found = {row.case: row for row, _ in rows(imported(FILE)) if row.latency_mean_ms}
    axes = {case: row.name.partition(" ")[2] for case, row in found.items()}
    assert len(set(axes.values())) == 2
    assert [axes[row.baseline] for row in found.values()] == list(axes.values())


def test_gpus_version_and_ignored_summaries_are_named(imported: Any) -> None:
    session = imported(FILE)
    assert [gpu.name for gpu in session.start.host.gpus] == ["Quadro GV100", "Quadro GP100"]
    assert session.start.host.packages == {"nvbench": "0.1.0"}
    assert "bandwidths, aren't imported" in markdown(session, full=True)


def file_of(*summaries: tuple[str, str], **state: Any) -> dict[str, Any]:
    each = [
        {"tag": tag, "data": [{"name": "value", "type": "float64", "value": text}]} for tag, text in summaries
    ]
    return {
        "devices": None,
        "benchmarks": [{"name": "b", "states": [{"name": "n=1", "summaries": each, **state}]}],
    }


def test_benchmark_of_the_processor_has_times_of_the_host(imported: Any) -> None:
    (case,) = imported(
        file_of(
            ("nv/cpu_only/time/cpu/mean", "0.5"),
            ("nv/cpu_only/sample_size", "7"),
            ("nv/cpu_only/time/cpu/stdev/relative", "inf"),
        )
    ).cases
    reported = case.finished.reported
    assert (case.name, reported.steps, reported.latency_mean_ms, reported.latency_std_ms) == (
        "b n=1",
        7,
        500.0,
        None,
    )
    assert case.marks == ()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            file_of(("nv/cold/time/gpu/mean", "fast")),
            "benchmarks[0]: states[0]: summaries.tag=nv/cold/time/gpu/mean.data.0.value 'fast' isn't a number",
        ),
        (file_of(("nv/cold/time/gpu/mean", "-1")), "nv/cold/time/gpu/mean.data.0.value '-1' is negative"),
        ({"devices": [], "benchmarks": [{"name": "b"}]}, "looks like nvbench, but lacks summaries"),
    ],
)
def test_malformed_file_is_reported_with_its_place(imported: Any, content: object, expected: str) -> None:
    with pytest.raises(BenchtuiError) as caught:
        imported(content)
    assert expected in str(caught.value)
