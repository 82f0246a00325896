"""Roofline section of the report."""

from typing import Any

from benchtui.sessions.events import Peaks
from benchtui.sessions.payloads import StepCost

from ..conftest import full_report


def case(bench: Any, size: int, gflop: float, gb: float, **work: Any) -> Any:
    """A case whose step takes 100 ms."""
    known = StepCost(flops=gflop * 1e9, bytes_moved=gb * 1e9, bytes_of_weights=gb * 5e8, **work)
    return bench.case(size, 100.0, end={"work": known})


def test_without_peaks_rates_are_shown_but_no_bound(bench: Any, read: Any) -> None:
    broken = Peaks(t=0.1, device="cpu", precision="fp32", absent={"flops": "killed", "bytes": "`killed`"})
    for more, reason in (((), "peaks not measured"), ((broken,), "peak not measured: killed")):
        section = read(full_report(bench.session(case(bench, 1, 2.0, 0.9), more=more)))["Limits"]
        assert section.columns("TFLOP/s", "Reason if unknown") == [["0.0200", reason]]
        assert "Share of the measured peak (%)" not in section.tables[0][0]
        assert not any("holds back" in text for text in section.paragraphs)
    assert "Peaks of cpu fp32: no TFLOP/s: killed; no GB/s: `killed`" in section.paragraphs


def test_host_bound_case_is_named(bench: Any, read: Any) -> None:
    gpu = Peaks(t=0.1, device="cuda:0", precision="fp16", flops_per_s=7e14, bytes_per_s=4e12)
    work = StepCost(flops=1e12, bytes_moved=1e9, bytes_of_weights=1e8, busy_ms=3.0)
    hosts = {"host_ms": [8.0] * 10 + [9.0] * 20}
    made = bench.case(1, 10.0, device="cuda:0", precision="amp-fp16", end={"work": work}, columns=hosts)
    section = read(full_report(bench.session(made, more=[gpu])))["Limits"]
    assert section.columns("Device busy (%)", "Host, p50 (ms)", "Limited by") == [["30.0", "9.00", "host"]]
