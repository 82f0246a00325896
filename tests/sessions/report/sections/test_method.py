from typing import Any

import msgspec
import pytest
from by_turns import HandMade

from benchtui.sessions.payloads import Data, Effective
from benchtui.sessions.report.sections.method import method, options
from benchtui.sessions.stats.results import measured
from benchtui.sessions.sweep import Axes, Measure, Sweep


def facts(bench: Any, sweep: Sweep, data: Data | None = None) -> dict[str, str]:
    case = bench.case(1, 4.0, sequence_length=16, prepared={"data": data} if data else {})
    session = bench.session(case, sweep=sweep)
    return dict(method(session, measured(session)))


@pytest.mark.parametrize(
    ("samples", "truncated", "shown"),
    [(64, 16, "25.0 % of the texts"), (64, 0, "none of the texts"), (900, 1, "1.56 % of the first 64 texts")],
)
def test_method_says_how_many_texts_are_truncated(bench: Any, samples: int, truncated: int, shown: str) -> None:
    data = Data(dataset="imdb", samples=samples, checked=64, truncated=truncated)
    text = facts(bench, Sweep(name="a", model="tiny"), data)["Text"]
    assert text == f"imdb ({samples} samples), truncated and padded to 16 tokens ({shown} are longer)"


def test_baseline_names_what_its_cases_have_in_common(bench: Any) -> None:
    def baseline(*cases: Any) -> str:
        session = bench.session(*cases)
        return dict(method(session, measured(session)))["Baseline"]

    one, longer = bench.case(1, 4.0), bench.case(1, 4.0, sequence_length=512)
    assert baseline(one) == "the first measured case, as the sweep names none"
    assert baseline(one, longer) == "the first measured case of each workload, as the sweep names none"


def test_truncation_of_each_length_is_reported(bench: Any) -> None:
    def case(length: int, truncated: int) -> Any:
        data = Data(dataset="imdb", samples=64, checked=64, truncated=truncated)
        return bench.case(1, 4.0, sequence_length=length, prepared={"data": data})

    session = bench.session(case(128, 16), case(32, 64))
    text = dict(method(session, measured(session)))["Text"]
    assert text == (
        "imdb (64 samples), truncated and padded to 32 tokens (100 % of the texts are longer)"
        " and 128 tokens (25.0 % of the texts are longer)"
    )


def test_minimum_times_are_part_of_the_rules_on_a_gpu(bench: Any) -> None:
    rules = Measure(min_warmup_s=None, min_time_s=None)
    mixed = facts(bench, Sweep(name="a", model="m", axes=Axes(device=("cpu", "cuda:0")), measure=rules))
    assert mixed["Settings"].startswith(
        "warmup = 5, min_warmup_s = 1, iterations = 20, min_time_s = 2.5, timeout_s"
    )
    on_cpu = facts(bench, Sweep(name="a", model="m", measure=rules))
    assert on_cpu == facts(bench, Sweep(name="a", model="m"))


KNOWN = Effective(
    weights_dtype="float32", output_dtype="float32", compiled=False, tf32=False, threads=2, padding="max"
)


def options_read_back(bench: Any, sweep: Sweep, cache: str, others: dict[str, str | int]) -> dict[str, str]:
    """Return the row of the only case in the table of options, by column."""
    effective = msgspec.structs.replace(KNOWN, others=others)
    case = bench.case(1, 4.0, cache=cache, end={"effective": effective})
    found = options(bench.session(case, sweep=sweep))
    assert found is not None
    (row,) = found.rows
    return dict(zip(found.titles, row, strict=True))


@pytest.mark.parametrize("task", ["classify", "generate"])
def test_a_cache_that_no_worker_read_back_is_no_option_of_the_case(bench: Any, task: str) -> None:
    """Sessions recorded before there was the option have none, and neither do other tasks."""
    read = options_read_back(bench, Sweep(name="a", model="m", task=task), "dynamic", {})
    assert read["Applied"] == "yes" and "Cache" not in read


@pytest.mark.parametrize(
    ("others", "applied"),
    [({"cache": "static"}, "yes"), ({"cache": "dynamic"}, "cache: no"), ({}, "cache: not verified")],
)
def test_a_static_cache_is_compared_with_the_one_read_back(
    bench: Any, others: dict[str, str | int], applied: str
) -> None:
    read = options_read_back(bench, Sweep(name="a", model="m", task="generate"), "static", others)
    assert read["Applied"] == applied
    assert read.get("Cache") == others.get("cache")


@pytest.mark.parametrize(("cache", "mode"), [("dynamic", "default"), ("static", "off"), ("static", "default")])
def test_what_is_compiled_with_a_static_cache_is_part_of_the_method(bench: Any, cache: str, mode: str) -> None:
    case = bench.case(1, 4.0, cache=cache, compile=mode)
    session = bench.session(case, sweep=Sweep(name="a", model="m", task="generate"))
    told = dict(method(session, measured(session))).get("Compilation")
    wanted = "with a static cache only decoding is compiled, not the prefill"
    assert told == (wanted if (cache, mode) == ("static", "default") else None)


@pytest.mark.parametrize(
    ("device", "task", "mode", "pins"),
    [
        ("cuda:0", "classify", "throughput", True),
        ("cuda:0", "classify", "latency", False),
        ("cpu", "classify", "throughput", False),
        ("cuda:0", "serve-batch", "throughput", False),
        ("cuda:0", "step.py:make", "throughput", False),
    ],
)
def test_pinned_memory_is_named_where_it_is_used(
    bench: Any, device: str, task: str, mode: Any, pins: bool
) -> None:
    sweep = Sweep(name="a", model="m", task=task, measure=Measure(mode=mode))
    session = bench.session(bench.case(1, 4.0, device=device), sweep=sweep)
    assert ("pinned memory" in dict(method(session, measured(session)))["Timing"]) is pins


def test_pairs_by_turns_are_counted_and_not_listed() -> None:
    made = HandMade(10.0, 11.0, 13.0).alone(0, 1, 2).by_turns(0, 1, 2).by_turns(2, 1, 0).by_turns(0, 1)
    told = dict(method(made.session, measured(made.session)))["Rounds"]
    assert told.endswith("; 3 pairs of cases by turns, 2 to 3 rounds each")
