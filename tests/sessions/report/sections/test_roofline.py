"""Roofline section of the report."""

from typing import Any

import pytest

from benchtui.sessions.events import Peaks
from benchtui.sessions.payloads import Gpu, Host, StepCost
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep, Train


def full_report(session: Session) -> str:
    return markdown(session, full=True)


CPU = Peaks(
    t=0.1,
    device="cpu",
    precision="fp32",
    flops_per_s=1.5e11,
    bytes_per_s=1.1e10,
    how={"flops": "product of matrices", "bytes": "copy"},
)


UUID = {"gpu_uuid": "GPU-1"}


def case(bench: Any, size: int, gflop: float, gb: float, **work: Any) -> Any:
    """A case whose step takes 100 ms."""
    known = StepCost(flops=gflop * 1e9, bytes_moved=gb * 1e9, bytes_of_weights=gb * 5e8, **work)
    return bench.case(size, 100.0, end={"work": known})


def test_every_counted_case_has_shares_and_a_bound(bench: Any, read: Any) -> None:
    made = [
        case(bench, 1, gflop=2.0, gb=0.9),
        case(bench, 2, gflop=9.0, gb=0.4),
        case(bench, 4, gflop=12.0, gb=0.4),
        case(bench, 8, gflop=0.1, gb=0.01),
    ]
    section = read(full_report(bench.session(*made, more=[CPU])))["Limits"]
    shown = ("GFLOP/step", "TFLOP/s", "Peak (TFLOP/s)", "Share of the measured peak (%)", "Limited by")
    rows = section.columns(*shown)
    assert rows[1] == ["9.00", "0.0900", "0.150", "60.0", "arithmetic"]
    assert [row[-1] for row in rows] == ["memory", "arithmetic", "arithmetic", "–"]
    bytes_shown = ("GB/step, upper bound", "Of weights (GB/step)", "GB/s, upper bound", "Peak (GB/s)")
    assert section.columns(*bytes_shown)[0] == ["0.900", "0.450", "9.00", "11.0"]
    assert section.columns("Reason if unknown")[3][0].startswith("below 25% of both")
    assert not {"Device busy (%)", "Host, p50 (ms)"} & set(section.tables[0][0])
    assert "Peaks of cpu fp32: 0.150 TFLOP/s (product of matrices); 11.0 GB/s (copy)" in section.paragraphs


def test_without_peaks_rates_are_shown_but_no_bound(bench: Any, read: Any) -> None:
    broken = Peaks(t=0.1, device="cpu", precision="fp32", absent={"flops": "killed", "bytes": "`killed`"})
    for more, reason in (((), "peaks not measured"), ((broken,), "peak not measured: killed")):
        section = read(full_report(bench.session(case(bench, 1, 2.0, 0.9), more=more)))["Limits"]
        assert section.columns("TFLOP/s", "Reason if unknown") == [["0.0200", reason]]
        assert "Share of the measured peak (%)" not in section.tables[0][0]
        assert not any("holds back" in text for text in section.paragraphs)
    assert "Peaks of cpu fp32: no TFLOP/s: killed; no GB/s: `killed`" in section.paragraphs


def test_session_without_counted_operations_has_no_roofline_section(bench: Any, read: Any) -> None:
    assert "Limits" not in read(full_report(bench.session(bench.case(1, 100.0), more=[CPU]))).titles


@pytest.mark.parametrize(
    ("checkpointing", "kernel", "title"),
    [(False, "math", "MFU (%)"), (False, "efficient", "HFU (%)"), (True, "math", "HFU (%)")],
)
def test_known_gpu_has_its_share_of_the_data_sheet(
    bench: Any, read: Any, checkpointing: bool, kernel: str, title: str
) -> None:
    work = StepCost(flops=9.894e11, bytes_moved=1e9, bytes_of_weights=1e8, attention=(kernel,))
    end, parts = {"work": work}, {"forward": [3.0] * 30, "backward": [6.0] * 30}
    made = bench.case(1, 10.0, device="cuda:0", precision="amp-bf16", end=end, prepared=UUID, parts=parts)
    host = Host(gpus=(Gpu(index=0, name="NVIDIA H200", uuid="GPU-1"),))
    sweep = Sweep(name="s", model="m", task="lm-train", train=Train(activation_checkpointing=checkpointing))
    document = read(full_report(bench.session(made, host=host, sweep=sweep)))
    assert document["Limits"].columns(title, "Attention kernel") == [["10.0", kernel]]
    results = document["Results"]
    assert results.columns(title) == [["10.0"]]


def test_host_bound_case_is_named(bench: Any, read: Any) -> None:
    gpu = Peaks(t=0.1, device="cuda:0", precision="fp16", flops_per_s=7e14, bytes_per_s=4e12)
    work = StepCost(flops=1e12, bytes_moved=1e9, bytes_of_weights=1e8, busy_ms=3.0)
    hosts = {"host_ms": [8.0] * 10 + [9.0] * 20}
    made = bench.case(1, 10.0, device="cuda:0", precision="amp-fp16", end={"work": work}, columns=hosts)
    section = read(full_report(bench.session(made, more=[gpu])))["Limits"]
    assert section.columns("Device busy (%)", "Host, p50 (ms)", "Limited by") == [["30.0", "9.00", "host"]]
