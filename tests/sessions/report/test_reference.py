"""A session with the values of the reference report renders those values."""

from pathlib import Path
from typing import Any

import make_comprehensive_report
import pytest

from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.journal.reader import read
from benchtui.sessions.library import paths
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import summarize

from .test_golden import REPORTS


def full_report(session: Session) -> str:
    return markdown(session, full=True)


FIXTURES = Path(__file__).parents[2] / "fixtures"
CPU, GPU, AMP = "CPU – FP32", "CUDA:0 – FP32", "CUDA:0 – Mixed precision (AMP, fp16)"

METRICS = {
    CPU: """
        8.00   450  17.8 1,670
        16.00  937  17.1 1,750""",
    GPU: """
        8.00   15.6  515 1,600   747
        16.00  26.5  603 1,600   797
        32.00  51.9  616 1,620   893
        64.00   110  583 1,620 1,080
        128.00  221  579 1,620 1,470""",
    AMP: """
        8.00  15.5 518 1,600 747
        16.00 26.5 605 1,600 797
        32.00 51.7 619 1,620 893""",
}
"""The values of the reference with three significant digits."""
SCALING = {
    CPU: """
        8.00  2.23 1.00
        16.00 1.07 0.479""",
    GPU: """
        8.00   64.3 1.00
        16.00  37.7 0.586
        32.00  19.3 0.299
        64.00  9.11 0.142
        128.00 4.52 0.0703""",
    AMP: """
        8.00  64.7 1.00
        16.00 37.8 0.584
        32.00 19.3 0.299""",
}
GAIN = """
        8.00  0.60 0.66
        16.00 0.34 0.34
        32.00 0.35 0.35"""
SPEEDUP = """
        8  FP32 cpu cuda:0 28.9 28.9
        16 FP32 cpu cuda:0 35.3 35.3"""


@pytest.fixture
def document(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("read")(full_report(Session.load(FIXTURES / "comprehensive-report.json")))


def rows(text: str) -> list[list[str]]:
    """Values as the reference prints them, except batch sizes, which are whole numbers."""
    return [[line.split()[0].removesuffix(".00"), *line.split()[1:]] for line in text.strip().splitlines()]


def test_reference_has_metrics_for_each_device_and_precision(document: Any) -> None:
    found = {section.title: section for section in document.under("Performance metrics")}
    titles = ["Batch size", "Latency, mean (ms)", "Throughput (samples/s)", "CPU memory, peak RSS (MB)"]
    assert list(found) == list(METRICS)
    for title, expected in METRICS.items():
        gpu = [] if title == CPU else ["GPU memory, peak allocated (MB)"]
        assert found[title].columns(*titles, *gpu) == rows(expected)
    assert "GPU memory, peak allocated (MB)" not in found[CPU].tables[0][0]


def test_reference_has_scaling_by_batch_size(document: Any) -> None:
    found = {section.title: section for section in document.under("Scaling with batch size")}
    assert list(found) == list(SCALING)
    for title, expected in SCALING.items():
        columns = "Batch size", "Throughput per item (samples/s)", "Per item, relative to first batch size"
        assert found[title].columns(*columns) == rows(expected)
    for title, last, share in ((CPU, 16, "0.479"), (GPU, 128, "0.0703"), (AMP, 32, "0.299")):
        assert found[title].text.startswith(f"Batch size 8 to {last}: ")
        assert f"{share} × the throughput per item" in found[title].text
    assert "scaling efficiency" in document["Scaling with batch size"].text


def test_scaling_is_relative_to_linear_and_per_doubling(document: Any) -> None:
    section = next(each for each in document.under("Scaling with batch size") if each.title == GPU)
    found = section.columns("Throughput relative to linear scaling", "Gain per doubling (%)")
    assert found == [["1.000", "–"], ["1.17", "17.1"], ["1.20", "2.28"], ["1.13", "-5.45"], ["1.12", "-0.68"]]


def test_unverified_precision_gain_is_shown_but_not_claimed(document: Any) -> None:
    (section,) = document.under("Precision gain")
    assert section.columns("Batch size", "Throughput gain (%)", "Latency gain (%)") == rows(GAIN)
    assert section.columns("Applied") == [["not verified"]] * 3
    assert "Verdict" not in section.tables[0][0]
    assert "amp-fp16 couldn't be verified in 3 rows (batch size 8, 16, 32)" in section.text
    assert "amp-fp16 in 3 cases; whether it was applied isn't recorded." in document["Caveats"].text


def test_reference_device_speedup(document: Any) -> None:
    section = document["Device speedup"]
    titles = ["Batch size", "Precision", "Baseline device", "Target device"]
    found = section.columns(*titles, "Throughput speedup (×)", "Latency speedup (×)")
    assert found == rows(SPEEDUP)


def test_reference_optimal_configurations(document: Any) -> None:
    throughput, latency = document.need("Maximum throughput"), document.need("Minimum latency")
    assert throughput["Run"] == "cuda:0 fp32 bs=32", "0.35% and not verified: a tie, the document's own mistake"
    assert throughput["Figure (95% interval)"] == "616 samples/s"
    assert "about 53.3 million samples/day" in document["Decision"].text
    assert throughput["Next best"] == "cuda:0 amp-fp16 bs=32, 619 samples/s"
    assert throughput["Ahead of it by"].startswith("0.997 ×")
    assert latency["Run"] == "cuda:0 fp32 bs=8"
    assert latency["Figure (95% interval)"] == "15.6 ms"


def test_reference_model_and_system(document: Any) -> None:
    title = document.sections[1]
    assert "Measured on 2025-05-06 12:12:37 UTC" in title.paragraphs[0]
    assert {
        "Model: distilbert-base-uncased-finetuned-sst-2-english",
        "Hidden size: 768",
        "Hidden layers: 6",
        "Attention heads: 12",
        "Parameters: 66,955,010",
    } <= set(document["Model information"].paragraphs)
    assert {
        "Platform: Linux-6.6.56+-x86_64-with-glibc2.35",
        "Python: 3.11.11",
        "Processor: x86_64",
        "CPU count: 4",
        "PyTorch: 2.5.1+cu124",
        "GPU 0: Tesla P100-PCIE-16GB",
        "CUDA: 12.4",
        "cuDNN: 90300",
    } <= set(document["System information"].paragraphs)


def test_choices_and_options_have_metrics_and_their_certainty(document: Any) -> None:
    throughput = document.need("Maximum throughput")
    assert throughput["Against the baseline"] == "34.6 ×, reported: the source kept no steps"
    assert "Baseline: cpu fp32 bs=8 (17.8 samples/s)." in document["Decision"].text
    found = document["What each option brings"].columns("Option", "Throughput (×)", "Verdicts", "Advice")
    assert ["device", "28.9 to 35.3", "2 reported", "use it, as reported"] in found, "the hardware to run on"
    assert ["precision", "1.003 to 1.006", "3 not verified", "–"] in found


def test_fixture_matches_the_output_of_its_script(tmp_path: Path) -> None:
    make_comprehensive_report.write(tmp_path / "again.json")
    assert read(tmp_path / "again.json") == read(FIXTURES / "comprehensive-report.json")


QUOTED = {
    "comprehensive-report": (
        "616 samples/s",
        "about 53.3 million samples/day",
        "28.9 to 35.3",
        "within 0.66 %",
    ),
    "comparison-documented": (
        "27.9 ×",
        "B (gpu) is 27.9 × as fast as A (cpu) over 1 case, REPORTED: the source kept no steps.",
        "Neither session says which machine or software it ran on.",
        "0.434 J/sample",
        "not comparable",
    ),
    "batch-sizes": ("step is 49.2 % longer than batch sizes 1 and 4 predict", "1.15", "70.0", "43.8", "59.8"),
    "gpt2-training": (
        "4.24 tokens/s",
        "tokens/s with padding",
        "13,600",
        "81.42 to 99.22 %",
        "0.043 % apart",
        "3.93 GB (+34 %)",
        "up to 1.1 %",
        "not in the file",
    ),
    "gpt2-optimizers": (
        "lion8bit",
        "15,200 tokens/s",
        "loading of data and torch's profiler",
        "compile=default, bs=6, seq=768",
    ),
    "recorded-classify": ("truncated and padded to", "46.7 % of the texts are longer"),
}
"""What the page on the reference reports quotes of each report."""


@pytest.mark.parametrize("name", QUOTED)
def test_page_on_the_reference_reports_quotes_golden_reports(bench: Any, tmp_path: Path, name: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference-reports.md").read_text().lower()
    golden = (Path(__file__).parent / "golden" / f"{name}.md").read_text().lower()
    full = markdown(REPORTS[name](bench, tmp_path), full=True).lower() if name in REPORTS else ""
    for text in map(str.lower, QUOTED[name]):
        assert text in golden or text in full
        assert text in page


def test_page_on_the_reference_reports_quotes_the_compile_time_of_the_demo() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference-reports.md").read_text()
    full = full_report(Session.load(paths.demo_path(paths.CPU_DEMO), summarize))
    assert "11.7 s" in page and "11.7" in full


QUOTED_OF_GPT2 = ("+93.0", "+33.6", "28.1", "-6.77", "-5.18", "Memory against the baseline", "81.4", "99.2")
"""What the page quotes of the full report of the training runs."""


def test_page_on_the_reference_reports_quotes_the_full_report_of_the_training_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference-reports.md").read_text()
    session_writer.write(registry.read(FIXTURES / "gpt2-training-results.csv"), tmp_path / "gpt2.json")
    full = full_report(Session.load(tmp_path / "gpt2.json", summarize))
    for text in QUOTED_OF_GPT2:
        assert text in full
        assert text in page
