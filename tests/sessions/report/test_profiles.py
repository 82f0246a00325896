"""Figures and sentences about explained cases follow from their profiles, those of every rule."""

import re
from typing import Any

import pytest
from explained import explained
from msgspec.structs import replace

from benchtui.sessions.events import Explained, Peaks
from benchtui.sessions.explain.cases import explained_cases
from benchtui.sessions.explain.findings import RULES, findings
from benchtui.sessions.profiles import (
    GraphBreak,
    HostUse,
    KernelTime,
    MemoryKinds,
    Place,
    Recompile,
    ThreadUse,
)
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session

from .checker.sections import objections
from .test_sentences import altered, explained_in, results_of

TITLE = "## Where a step's time goes"
SLOW_LOOP = KernelTime(name="aten::mm", family="matmul", ms=8.0, count=400.0, shape="8x8 float", flops=4e5)
DOUBLES = KernelTime(name="aten::mul", family="elementwise", ms=9.0, count=3.0, shape="9x9 double", bytes=4e9)
PRODUCT = KernelTime(name="aten::addmm", family="matmul", ms=70.0, count=36.0, shape="8x9 float", flops=6e10)
COPY = KernelTime(
    name="Memcpy HtoD (Pinned -> Device)", family="copy", ms=21.5, count=7.0, shape="512x768 Half"
)
BREAKS = (GraphBreak(reason="a list; and more.", where="step.py:3"), GraphBreak(reason="x"))
GUARD = "tensor 'x' size mismatch at index 1. expected 16, actual 32"
TRAINING = MemoryKinds(weights_mb=100.0, gradients_mb=100.0, optimizer_mb=420.0, activations_mb=1234.5)
GENERATING = MemoryKinds(weights_mb=310.0, cache_mb=290.0, growth_mb=12.3)
GATHER = KernelTime(name="aten::index", family="gather", ms=39.0, count=8.0, shape="512x768 float")
ITEM = KernelTime(name="aten::item", family="other", ms=6.0, count=517.0)
DENORMAL = KernelTime(name="aten::mul", family="elementwise", ms=31.0, count=2.0, denormal_share=0.67)
STRIDED = KernelTime(
    name="aten::exp", family="elementwise", ms=36.0, count=1.0, shape="9x9 float", strided=True
)
FAR = KernelTime(name="aten::erf", family="elementwise", ms=64.0, count=1.0, shape="9x9 float", bytes=7.7e6)
SCORES = KernelTime(name="aten::bmm", family="matmul", ms=43.0, count=12.0, shape="9x9 float")
PLACES = (
    Place(where="own.py:31", code="rows.wait()", within="queue.py get", activity="lock", share=0.5),
    Place(where="own.py:47", code="x @ y", activity="native", share=0.93),
    Place(where="own.py:53", code="f(7)", activity="python", share=0.26),
)
ATTENTION = "eager"
IDLE = HostUse(
    step_ms=95.0, cpu_ms=90.0, asleep_ms=0.0, user_ms=95.0, kernel_ms=0.0, main_kernel_ms=0.0, page_faults=3.0
)
SYSTEM = replace(IDLE, step_ms=110.0, main_kernel_ms=64.0, delay_ms=11.0, other_delays_ms=51.0, others_ms=90.0)
FAULTS = replace(IDLE, step_ms=98.0, main_kernel_ms=43.0, page_faults=41_234.0)
READS = replace(IDLE, step_ms=107.0, main_kernel_ms=57.0, read_mb=64.3)
COLLECTS = replace(IDLE, collecting_ms=23.7)
BUSY = replace(IDLE, delay_ms=29.0, threads=(ThreadUse(name="spinner", cpu_ms=87.0),))


@pytest.fixture
def session(bench: Any, make_profile: Any) -> Session:
    """Build a session in whose profiles each rule finds its cause."""
    profiles = (
        make_profile(
            {"elementwise": 35.0, "optimizer": 22.0, "python": 21.0, "tokenizer": 22.0},
            kernels=(DOUBLES,),
            memory=TRAINING,
            graph_breaks=BREAKS,
            recompiles=(Recompile(guard=GUARD, where="forward in model.py:7", count=4),),
        ),
        make_profile(
            {"matmul": 78.0, "wait": 22.0},
            kernels=(PRODUCT, SLOW_LOOP),
            memory=replace(TRAINING, activations_mb=20.0),
            threads=1,
            processors=3,
            plain_ms=60.0,
            graph_breaks=BREAKS[:1],
            recompiles=(Recompile(guard=GUARD),),
        ),
        make_profile({"matmul": 20.0, "python": 80.0}, kernels=(SLOW_LOOP,), memory=GENERATING, launches=410.0),
        make_profile(
            {"matmul": 3.5, "python": 60.0, "copy": 36.5},
            kernels=(COPY,),
            busy_ms=40.0,
            idle_ms={"python": 55.0, "tokenizer": 5.0},
            launches=1840.0,
        ),
        make_profile({"matmul": 10.5}, kernels=(replace(PRODUCT, ms=10.0),), plain_ms=11.5),
        make_profile(
            {"input": 60.0, "matmul": 20.0, "gather": 40.0}, kernels=(GATHER,), host=SYSTEM, places=PLACES
        ),
        make_profile(
            {"python": 80.0, "matmul": 20.0}, host=FAULTS, places=PLACES, parts_ms={"data": 50.0, "rest": 50.0}
        ),
        make_profile({"python": 40.0, "matmul": 70.0}, host=READS, kernels=(ITEM,), launches=1234.0),
        make_profile(
            {"elementwise": 70.0, "wait": 41.0}, host=COLLECTS, kernels=(DENORMAL, STRIDED), places=PLACES
        ),
        make_profile(
            {"elementwise": 70.0, "compile": 37.0}, host=BUSY, kernels=(FAR,), threads=2, processors=2
        ),
        make_profile(
            {"matmul": 70.0, "python": 35.0}, host=SYSTEM, threads=16, processors=3, kernels=(SCORES,)
        ),
        make_profile({"matmul": 70.0, "python": 35.0}, plain_ms=35.0, launches=2345.0, kernels=(SLOW_LOOP,)),
        make_profile({"matmul": 70.0, "python": 35.0}, plain_ms=135.0),
        make_profile({"python": 83.0, "matmul": 12.0}, host=IDLE, places=PLACES[1:]),
    )
    times_ms = (100.0, 75.0, 112.0, 100.0, 12.6, 120.0, 100.0, 110.0, 111.0, 107.0, 105.0, 36.0, 100.0, 95.0)
    events: list[Any] = [Peaks(t=0.0, device="cpu", precision="fp32", threads=5, flops_per_s=7.9e12)]
    for case, profile in enumerate(profiles):
        events.append(Explained(t=98.0, case=case, created="2026-11-23T10:00:00Z", profile=profile))
    events.append(Peaks(t=0.0, device="cpu", precision="fp32", threads=10, bytes_per_s=1e10))
    events[1] = replace(events[1], changed=("Python: 3.11 → 3.12", "kernel: 6.1 → 6.2"))
    events.append(
        Explained(t=98.0, case=len(profiles), created="2026-11-23T10:00:00Z", absent="the import failed")
    )
    made = [
        bench.steady(1, ms, threads=threads, effective=bench.effective(threads=threads, attention=ATTENTION))
        for threads, ms in enumerate(times_ms, 1)
    ]
    return bench.session(*made, bench.steady(2, 10.0), more=events)  # type: ignore[no-any-return]


def test_report_agrees_with_the_profiles_of_every_rule(session: Session) -> None:
    found = [finding.rule for case in explained_cases(session) for finding in findings(case)]
    assert len(set(found)) == len(RULES)
    for full in (False, True):
        report = markdown(session, full=full)
        assert TITLE in report
        assert objections(results_of(session), report, explained=explained_in(session)) == []


def test_checker_notices_any_changed_figure_of_a_profile(session: Session) -> None:
    report, results = markdown(session, full=True), results_of(session)
    events, unnoticed = explained_in(session), []
    numbers = figures(report)
    for start, end in numbers[::3]:
        changed = report[:start] + altered(report[start:end]) + report[end:]
        if changed != report and not objections(results, changed, explained=events):
            unnoticed.append(f"{report[max(0, start - 60) : start]}$ {report[end : end + 20]}")
    assert len(numbers) > 250
    assert unnoticed == []


def figures(report: str) -> list[tuple[int, int]]:
    """Return the positions of the numbers in the section, names of cases apart."""
    begin = report.index(TITLE)
    end = report.index("\n## ", begin)
    found = []
    for line in re.finditer(r"^(?!#)(- \*\*.+?\*\*: )?(.+)$", report[begin:end], re.MULTILINE):
        names = r"cpu fp32[^|*;.()]*?bs=\d+|\| +ms per step.*|\| family.*"
        text = re.sub(names, lambda match: "_" * len(match[0]), line[2])
        for match in re.finditer(r"(?<![\w.:=-])[-+]?\d[\d,]*(?:\.\d+)?(?![\w.]*\w)", text):
            found.append((begin + line.start(2) + match.start(), begin + line.start(2) + match.end()))
    return found


def test_section_without_profiles_is_refused(bench: Any) -> None:
    session = bench.session(bench.steady(1, 28.5), more=[explained(0)])
    (only,) = objections(results_of(session), markdown(session))
    assert "no profiles are known" in only


def test_note_on_a_slow_profiler_cannot_be_left_out(session: Session) -> None:
    report = markdown(session)
    shorter = re.sub(r"- \*\*[^*]+\*\*: Profiling lengthened .*\n", "", report)
    assert shorter != report
    found = objections(results_of(session), shorter, explained=explained_in(session))
    assert any("'Profiling lengthened the step' is not said" in each for each in found)
