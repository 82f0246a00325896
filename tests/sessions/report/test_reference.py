"""Every row of five published reports (docs/reference-reports.md) is in a report, or a command prints it.

Fields are cells of a table, found by other cells of their row; texts of a section;
or the output of a command.
"""

import re
from functools import cache
from pathlib import Path

import make_comprehensive_report
import pytest
from click.testing import CliRunner
from msgspec import Struct

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.journal.reader import read as read_events
from benchtui.sessions.report import compare
from benchtui.sessions.report.document import markdown
from benchtui.tui.cli import app

from .conftest import Document, parse
from .test_golden import FIXTURES, REPORTS
from .test_golden_comparison import COMPARISONS

PAGE = Path(__file__).parents[3] / "docs" / "reference-reports.md"
COMPREHENSIVE, RUNNER, SIZES = "comprehensive-report", "batch-sweep", "batch-sizes"
GPT2, OPTIMIZERS = "gpt2-training", "gpt2-optimizers"
DOCUMENTED, IMPORTED = "comparison-documented", "comparison-imported"
Cells = dict[str, str]


class Field(Struct, frozen=True):
    """Fields of a report: the cells of the row with some others, or texts of the section."""

    report: str
    section: str
    where: Cells = {}
    cells: Cells = {}
    texts: tuple[str, ...] = ()

    def missing(self, documents: list[Document]) -> list[str]:
        """Return what neither the default nor the full report has."""
        found = [
            section for document in documents for section in document.sections if section.title == self.section
        ]
        shown = "\n".join(section.text for section in found)
        missing = [text for text in self.texts if text not in shown]
        if self.cells:
            rows = [
                dict(zip(header, row, strict=True))
                for section in found
                for header, *table in section.tables
                for row in table
            ]
            matching = [row for row in rows if self.where.items() <= row.items()]
            if not any(self.cells.items() <= row.items() for row in matching):
                missing.append(f"{self.where}: {self.cells} is none of {matching or rows}")
        return missing


class Command(Struct, frozen=True):
    """Output of a command, in which a word that names a report stands for the file of its session."""

    words: tuple[str, ...]
    output: str
    """Pattern of what it prints, or of the error that it raises."""


def cells(report: str, section: str, where: Cells, cells: Cells) -> Field:
    return Field(report, section, where, cells)


def texts(report: str, section: str, *shown: str) -> Field:
    return Field(report, section, texts=shown)


def sizes(report: str, section: str, name: str, columns: tuple[str, ...], rows: str) -> tuple[Field, ...]:
    """Return the fields of a published table: a row for each batch size, then the values of columns."""
    published = [line.split() for line in rows.strip().splitlines()]
    return tuple(
        Field(report, section, {"Case": name.format(size)}, dict(zip(columns, values, strict=True)))
        for size, *values in published
    )


STEPS = ("Latency, mean (ms)", "Throughput (samples/s)")
PEAKS = ("CPU memory, peak RSS (MB)", "GPU memory, peak allocated (MB)")
PER_ITEM = ("Throughput per item (samples/s)", "Per item, relative to first batch size")
LINEAR = ("Throughput relative to linear scaling", "Gain per doubling (%)")
CPU, GPU, AMP = (
    f"{name} compile=off bs={{}} seq=128" for name in ("cpu fp32", "cuda:0 fp32", "cuda:0 amp-fp16")
)
METRICS = (
    *sizes(COMPREHENSIVE, "Performance metrics", CPU, STEPS, "8 450 17.8\n 16 937 17.1"),
    *sizes(
        COMPREHENSIVE,
        "Performance metrics",
        GPU,
        STEPS,
        "8 15.6 515\n 16 26.5 603\n 32 51.9 616\n 64 110 583\n 128 221 579",
    ),
    *sizes(COMPREHENSIVE, "Performance metrics", AMP, STEPS, "8 15.5 518\n 16 26.5 605\n 32 51.7 619"),
    *sizes(COMPREHENSIVE, "Memory", CPU, PEAKS, "8 1,670 –\n 16 1,750 –"),
    *sizes(
        COMPREHENSIVE,
        "Memory",
        GPU,
        PEAKS,
        "8 1,600 747\n 16 1,600 797\n 32 1,620 893\n 64 1,620 1,080\n 128 1,620 1,470",
    ),
    *sizes(COMPREHENSIVE, "Memory", AMP, PEAKS, "8 1,600 747\n 16 1,600 797\n 32 1,620 893"),
)
"""The published tables with three significant digits."""
ROWS: dict[str, tuple[Field | Command, ...]] = {
    "date of the report": (
        texts(
            COMPREHENSIVE,
            "Benchmark report: distilbert-base-uncased-finetuned-sst-2-english on x86_64 and"
            " Tesla P100-PCIE-16GB",
            "Measured on 2025-05-06 12:12:37 UTC",
        ),
    ),
    "model: name, hidden size, layers, heads, parameters": (
        texts(
            COMPREHENSIVE,
            "Model information",
            "Model: distilbert-base-uncased-finetuned-sst-2-english",
            "Hidden size: 768",
            "Hidden layers: 6",
            "Attention heads: 12",
            "Parameters: 66,955,010",
        ),
    ),
    "platform, Python, processor, CPU count, PyTorch, GPU, CUDA, cuDNN": (
        texts(
            COMPREHENSIVE,
            "System information",
            "Platform: Linux-6.6.56+-x86_64-with-glibc2.35",
            "Python: 3.11.11",
            "Processor: x86_64",
            "CPU count: 4",
            "PyTorch: 2.5.1+cu124",
            "GPU 0: Tesla P100-PCIE-16GB",
            "CUDA: 12.4",
            "cuDNN: 90300",
        ),
    ),
    "table per device and precision: latency, throughput, CPU and GPU memory": METRICS,
    "maximum throughput: 618.65 samples/s, 53,451,187.85 samples/day": (
        texts(
            COMPREHENSIVE,
            "Decision",
            "Run: cuda:0 fp32 compile=off bs=32 seq=128, 616 samples/s",
            "Rate: about 53.3 million samples/day",
        ),
        cells(
            COMPREHENSIVE,
            "Choices",
            {"Need": "Maximum throughput", "Run": "cuda:0 fp32 compile=off bs=32 seq=128"},
            {
                "Figure": "616 samples/s",
                "Next best": "cuda:0 amp-fp16 compile=off bs=32 seq=128, 619 samples/s",
                "Against the baseline": "34.6 ×, REPORTED: the source kept no steps",
            },
        ),
    ),
    "minimum latency": (
        cells(COMPREHENSIVE, "Decision", {}, {"Latency": "bs=8: 15.6 ms"}),
        cells(
            COMPREHENSIVE,
            "Choices",
            {"Need": "Minimum latency"},
            {"Run": "cuda:0 fp32 compile=off bs=8 seq=128"},
        ),
    ),
    "scaling efficiency per batch size": (
        texts(COMPREHENSIVE, "Scaling with batch size", "scaling efficiency"),
        *sizes(
            COMPREHENSIVE,
            "Scaling with batch size",
            "cpu fp32 compile=off bs={} seq=128",
            PER_ITEM,
            "8 2.23 1.00\n 16 1.07 0.479",
        ),
        *sizes(
            COMPREHENSIVE,
            "Scaling with batch size",
            "cuda:0 fp32 compile=off bs={} seq=128",
            PER_ITEM,
            "8 64.3 1.00\n 16 37.7 0.586\n 32 19.3 0.299\n 64 9.11 0.142\n 128 4.52 0.0703",
        ),
        *sizes(
            COMPREHENSIVE,
            "Scaling with batch size",
            "cuda:0 amp-fp16 compile=off bs={} seq=128",
            PER_ITEM,
            "8 64.7 1.00\n 16 37.8 0.584\n 32 19.3 0.299",
        ),
        *sizes(
            COMPREHENSIVE,
            "Scaling with batch size",
            "cuda:0 fp32 compile=off bs={} seq=128",
            LINEAR,
            "8 1.000 –\n 16 1.17 17.1\n 32 1.20 2.28\n 64 1.13 -5.45\n 128 1.12 -0.68",
        ),
    ),
    "mixed-precision gain in throughput and latency": (
        *(
            cells(
                COMPREHENSIVE,
                "Precision",
                {"Case": f"cuda:0 amp-fp16 compile=off bs={size} seq=128", "Against": "fp32"},
                {"Throughput (×)": rate, "Step (×)": step, "Applied": "not verified"},
            )
            for size, rate, step in ((8, "1.006", "1.007"), (16, "1.003", "1.003"), (32, "1.004", "1.003"))
        ),
        cells(
            COMPREHENSIVE,
            "What each option brings",
            {"Option": "precision"},
            {
                "Throughput (×)": "1.003 to 1.006",
                "Time per sample (%)": "-0.59 to -0.34",
                "Verdicts": "3 REPORTED",
                "Advice": "–",
            },
        ),
        texts(COMPREHENSIVE, "Caveats", "amp-fp16 in 3 cases; whether it was applied isn't recorded."),
        cells(
            RUNNER,
            "Anomalies",
            {"Case": "cuda amp-fp16 compile=off bs=8 seq=128"},
            {
                "What": "same peak memory as fp32 and times within 0.66 % at batch sizes 8, 16 and 32: autocast"
                " was probably not applied"
            },
        ),
    ),
    "CPU to GPU speedup: 28.89 and 35.32": (
        *(
            cells(
                COMPREHENSIVE,
                "Device",
                {"Case": f"cuda:0 fp32 compile=off bs={size} seq=128", "Against": "cpu"},
                {"Throughput (×)": ratio, "Step (×)": ratio},
            )
            for size, ratio in ((8, "28.9"), (16, "35.3"))
        ),
    ),
    "recommendations by need, conclusion": (
        cells(
            COMPREHENSIVE,
            "What each option brings",
            {"Option": "device"},
            {"Throughput (×)": "28.9 to 35.3", "Verdicts": "2 REPORTED", "Advice": "use it, as reported"},
        ),
        cells(
            COMPREHENSIVE,
            "Other objectives",
            {"Need": "Most throughput per GiB"},
            {"Run": "cuda:0 fp32 compile=off bs=16 seq=128"},
        ),
        texts(COMPREHENSIVE, "Limitations", "The source kept no single steps"),
    ),
    "latency, throughput and both speedups per batch size": (
        cells(
            DOCUMENTED,
            "B (gpu) against A (cpu)",
            {"Case": "cpu fp32 bs=8 seq=128", "Case of B": "cuda fp32 bs=8 seq=128"},
            {
                "A step (ms)": "450",
                "B step (ms)": "16.1",
                "A samples/s": "17.8",
                "B samples/s": "498",
                "Ratio (×)": "27.9",
            },
        ),
    ),
    "memory of both, average power": (
        cells(
            DOCUMENTED,
            "B (gpu) against A (cpu)",
            {},
            {
                "A peak RSS (MB)": "1,670",
                "B peak RSS (MB)": "1,600",
                "B device memory (MB)": "747",
                "B mean power (W)": "216",
                "B J/sample": "0.434",
            },
        ),
    ),
    "description of both systems": tuple(
        cells(IMPORTED, "Systems", {"Fact": fact}, {"A: cpu": value, "B: cuda": value})
        for fact, value in (
            ("Platform", "Linux-6.6.56+-x86_64-with-glibc2.35"),
            ("Processor", "x86_64"),
            ("CPU count", "4"),
            ("Python", "3.11.11"),
            ("PyTorch", "2.5.1+cu124"),
            ("GPU 0", "Tesla P100-PCIE-16GB"),
        )
    ),
    "interpretation of latency and throughput: average, maximum, at which batch size": tuple(
        cells(
            IMPORTED,
            "Interpretation",
            {"Quantity": quantity},
            {"Against A (×)": "31.9", "Least to most (×)": "28.9 to 35.3", "Most at": "batch size 16"},
        )
        for quantity in ("Latency (typical step)", "Throughput")
    ),
    "interpretation of memory and power": (
        cells(
            DOCUMENTED,
            "Interpretation",
            {"Quantity": "Peak memory", "Against A (×)": "not comparable"},
            {"A": "1.56 GiB of the worker", "B": "712 MiB on the GPU"},
        ),
        cells(DOCUMENTED, "Interpretation", {"Quantity": "Mean power"}, {"B": "216 W (0.434 J/sample)"}),
    ),
    "recommendation": (
        texts(DOCUMENTED, "Decision", "Run B, as reported: B (gpu) is 27.9 × as fast as A (cpu)"),
        cells(
            IMPORTED,
            "Best session for each need",
            {"Need": "Maximum throughput"},
            {"Run": "B: cuda fp32 compile=off bs=32 seq=128, 616 samples/s"},
        ),
    ),
    "figures": (Command(("export", "--format", "html", COMPREHENSIVE), "<figure.*Speedup over the baseline"),),
    "conclusion": (texts(DOCUMENTED, "Decision", "over 1 case, REPORTED: the source kept no steps."),),
    "typed configuration and command line": (
        Command(("plan", "quick", "--set", "batch_sise=4"), "batch_sise.*batch_size"),
    ),
    "structured results": (
        Command(("export", "--format", "json", COMPREHENSIVE), r'"\$id": ?"urn:benchtui:results:'),
        Command(("export", "--format", "csv", COMPREHENSIVE), "latency_mean_ms"),
    ),
    "its own JSONL": (
        texts(RUNNER, "Model, system and method", "Imported from: batch-sweep", "ignored fields: "),
        cells(RUNNER, "Energy", {"Case": "cuda fp32 compile=off bs=8 seq=128"}, {"Energy (J/sample)": "0.420"}),
    ),
    "its tables of batch sizes, devices and precisions": tuple(
        Command(
            ("import", str(FIXTURES / f"batch-sweep-{name}.csv"), "-o", f"{name}.json", "--json"), '"cases": ?'
        )
        for name in ("batches", "devices", "precisions")
    ),
    "profile of forward, data movement, preprocessing": (
        cells(
            "recorded-classify",
            "Step breakdown",
            {"Case": "cpu fp32 compile=off threads=1 bs=2 seq=32"},
            {"tokenize (ms)": "1.95", "tokenize (%)": "40.6", "transfer (ms)": "0.158", "forward (ms)": "2.68"},
        ),
    ),
    "batch sizes that behave oddly, with charts": (
        cells(
            SIZES,
            "Anomalies",
            {"Case": "cpu fp32 bs=2 seq=128"},
            {"What": "step is 49.2 % longer than batch sizes 1 and 4 predict"},
        ),
    ),
    '"15 % more efficient than linear scaling" at batch size 4': (
        texts(
            SIZES, "Decision", "cpu fp32 bs=4 seq=128, 22.8 samples/s", "against the baseline 1.15 ×, REPORTED"
        ),
        *sizes(SIZES, "Scaling with batch size", "cpu fp32 bs={} seq=128", LINEAR, "4 1.15 59.8"),
    ),
    '"39 % faster per sample than batch size 2"': (
        cells(SIZES, "Results", {"Batch size": "2"}, {"Time per sample (ms)": "70.0"}),
        cells(SIZES, "Results", {"Batch size": "4"}, {"Time per sample (ms)": "43.8"}),
        cells(
            SIZES,
            "What each option brings",
            {"Option": "batch size", "Value": "4", "Against": "2"},
            {"Time per sample (%)": "-37.4", "Verdicts": "1 REPORTED"},
        ),
        cells(
            SIZES, "What each option brings", {"Value": "2", "Against": "1"}, {"Time per sample (%)": "+39.3"}
        ),
    ),
    '"lower latency than larger batches"': (
        cells(SIZES, "Results", {"Batch size": "4"}, {"Mean (ms)": "175"}),
        cells(SIZES, "Results", {"Batch size": "8"}, {"Mean (ms)": "504"}),
    ),
    "`--optimal` for later runs": (
        Command(("optimal", COMPREHENSIVE), "throughput: cuda:0 fp32 compile=off bs=32 seq=128: 616 samples/s"),
    ),
    "energy by RAPL and NVML (GPU)": (
        cells(
            "demo",
            "Energy",
            {"Case": "cuda:0 bf16 compile=default attn=sdpa bs=4 seq=2048"},
            {"Energy (J/sample)": "6.66"},
        ),
    ),
    "HPC wrapper, deployment commands": (
        Command(("slurm", "quick"), "#SBATCH --job-name=quick"),
        texts(COMPREHENSIVE, "How to reproduce", "benchtui run sweep.toml"),
    ),
    "tokens/s over batch size, table and figure": (
        cells(
            GPT2,
            "Results",
            {"Compile": "default", "Batch size": "3"},
            {"Tokens/s with padding": "13,100", "Mean (ms)": "176", "Peak memory (GiB)": "2.88"},
        ),
    ),
    "top performer: reduce-overhead, batch size 5, 13,564 tokens/s, +93 %": (
        cells(
            GPT2,
            "Ranked, 768 tokens",
            {"Rank": "1", "Case": "cuda amp-fp16 compile=reduce-overhead bs=5 seq=768"},
            {"Against the baseline (%)": "+93.0"},
        ),
        texts(
            GPT2,
            "Decision",
            "Run: cuda amp-fp16 compile=reduce-overhead bs=5 seq=768, 13,600 tokens/s with padding",
        ),
    ),
    "what it costs: +34 % VRAM, jitter": (
        cells(GPT2, "Decision", {}, {"Peak memory": "3.66 GiB (+34 %)"}),
        cells(GPT2, "Ranked, 768 tokens", {"Rank": "1"}, {"Memory against the baseline (%)": "+33.6"}),
    ),
    "peak VRAM over batch size": (
        cells(GPT2, "Results", {"Compile": "off", "Batch size": "3"}, {"Peak memory (GiB)": "4.76"}),
    ),
    "most efficient: 4.24 tokens/s per MB": (
        cells(
            GPT2,
            "Other objectives",
            {"Need": "Most throughput per GiB", "Run": "cuda amp-fp16 compile=default bs=3 seq=768"},
            {"Figure": "4,560 tokens/s with padding per GiB"},
        ),
    ),
    "compile warm-up against step time, bars and line": (
        cells(
            "demo-cpu",
            "Compile",
            {"Case": "cpu fp32 compile=default threads=1 bs=4 seq=128", "Against": "off"},
            {"Cold cost (s)": "11.7", "Applied": "yes"},
        ),
    ),
    "step time 0.244 to 0.176 s, -28 %": (
        cells(
            GPT2,
            "Compile",
            {"Case": "cuda amp-fp16 compile=default bs=3 seq=768", "Against": "off"},
            {"Step (×)": "1.39", "Applied": "not verified"},
        ),
        cells(
            GPT2,
            "What each option brings",
            {"Option": "compiling", "Value": "default"},
            {"Time per sample (%)": "-28.1 to +11.5", "Verdicts": "4 REPORTED"},
        ),
        cells(
            GPT2,
            "What each option brings",
            {"Option": "precision", "Value": "amp-fp16"},
            {"Throughput (×)": "1.69 to 2.38", "Verdicts": "6 REPORTED", "Advice": "use it, as reported"},
        ),
    ),
    "break-even in steps, return over 500 steps": (
        cells(
            "demo",
            "What each option brings",
            {"Option": "compiling"},
            {"Pays off after (steps)": "116 to 7,369", "Advice": "use it"},
        ),
        Command(("optimal", "--steps", "500", "demo"), "500 steps in"),
    ),
    "risk of silent recompilation": (
        cells(
            "demo-cpu",
            "Every case",
            {"Case": "cpu fp32 compile=default threads=1 bs=4 seq=128"},
            {"Graphs": "1"},
        ),
    ),
    "leaderboard of speedups": (
        cells(
            GPT2,
            "Ranked, 768 tokens",
            {"Rank": "2", "Case": "cuda amp-fp16 compile=default bs=5 seq=768"},
            {"Verdict": "REPORTED: the source kept no steps"},
        ),
    ),
    "jitter, absolute and relative": (
        cells(
            "recorded-lm-train",
            "Performance metrics",
            {"Case": "cpu fp32 compile=off bs=2 seq=32"},
            {"Std (ms)": "712", "Jitter (%)": "61.0", "Range (ms)": "91.3 to 2,570"},
        ),
    ),
    "choice by need: throughput, speed per GB, steadiness": (
        cells(
            GPT2,
            "Choices",
            {"Need": "Most throughput per GiB"},
            {"Run": "cuda amp-fp16 compile=default bs=3 seq=768"},
        ),
        cells(GPT2, "Choices", {"Need": "Balanced"}, {"Run": "cuda amp-fp16 compile=default bs=2 seq=768"}),
        Command(("optimal", "--objective", "steadiness", "demo"), "p90 .* % above p50|steadiness at"),
    ),
    "combinations that ran out of memory": (
        texts(
            GPT2,
            "Model, system and method",
            "not in the file: cuda amp-fp16 compile=off seq=768 at batch size 4",
        ),
        cells(
            "demo",
            "Out of memory",
            {"Series": "cuda:0 fp32 compile=off attn=sdpa seq=2048"},
            {"Largest batch that ran": "16", "Smallest that didn't fit": "64"},
        ),
    ),
    "GPU utilization": (
        texts(GPT2, "Model, system and method", "gpu_utilization_avg: 81.42 to 99.22 %"),
        cells(
            GPT2,
            "Every case",
            {"Case": "cuda amp-fp16 compile=default bs=3 seq=768"},
            {"GPU utilization, as imported (%)": "95.8"},
        ),
    ),
    "run repeated by chance": (
        texts(
            GPT2, "Model, system and method", "2 rows of cuda amp-fp16 compile=default bs=2", "0.043 % apart"
        ),
    ),
    "optimizers compared (second CSV)": (
        texts(
            OPTIMIZERS,
            "Decision",
            "Run: cuda amp-fp16 compile=default opt=lion8bit bs=6 seq=768, 15,200 tokens/s with padding",
        ),
        texts(OPTIMIZERS, "Results", "All rows: batch size = 6, n = 500."),
    ),
    "that sweep, run again (GPU)": (
        Command(
            ("plan", "quick", "--set", "task=lm-train", "--set", "precision=fp32,amp-bf16", "--json"),
            '"task": ?"lm-train"',
        ),
    ),
    "raw data": (
        texts(GPT2, "How to reproduce", "Raw data: gpt2-training-results.csv; every figure without rounding"),
        Command(("export", "--steps", "--format", "csv", "recorded-classify"), "wall_ms"),
    ),
    "sections without data": (
        Command(("export", "--format", "html", GPT2), "Figures left out: energy .no case"),
    ),
    "IMDB reviews through `datasets`": (
        Command(("plan", "quick", "--set", "dataset=imdb:test"), "dataset imdb:test"),
    ),
    "tokenizing included in the latency, and on its own": (
        texts("recorded-classify", "Results", "Part tokenize takes up to 40.6 % of a step"),
        texts("recorded-classify", "Method", "tokenizing is in the total"),
    ),
    "truncation at a fixed length": (
        texts(
            "recorded-classify",
            "Model, system and method",
            "truncated and padded to 32 tokens (46.7 % of the texts are longer)",
        ),
    ),
    "batch sizes 1 and 32, CPU and GPU (GPU), same function": (
        Command(("plan", "quick", "--set", "batch_size=1,32", "--set", "device=cpu,cuda:0"), "bs=32.*cuda:0"),
    ),
    "latency, throughput, peak allocated GPU memory": (
        cells(COMPREHENSIVE, "Memory", {"Case": GPU.format(32)}, {"GPU memory, peak allocated (MB)": "893"}),
    ),
    "two sessions on two runtimes": (
        Command(("compare", COMPREHENSIVE, "recorded-classify"), "no case was measured in both"),
        Command(("compare", "quick-cpu", "quick-cpu"), "can't be compared with itself"),
    ),
    '"batch size matters more than hardware"': (
        texts("demo", "What each option brings", "Precision matters most for throughput"),
    ),
    "setup, metrics, observations": (
        texts(COMPREHENSIVE, "Model, system and method", "Text: sample", "GPUs: 1 x Tesla P100-PCIE-16GB"),
    ),
    "limitations": (
        texts(
            "recorded-classify",
            "Limitations",
            "The figures belong to AMD EPYC",
            "Each case ran in fewer than 3 processes",
            "There is no p99",
        ),
    ),
    "how to run it": (texts("recorded-classify", "How to reproduce", "benchtui run sweep.toml", "Versions: "),),
}


@cache
def documents(name: str, folder: Path) -> list[Document]:
    """Return the full and the default report of a session, or a comparison."""
    own = folder / name
    own.mkdir()
    if made := COMPARISONS.get(name.removeprefix("comparison-")):
        return [parse(compare.markdown(made(own)))]
    session = REPORTS[name](None, own)
    return [parse(markdown(session, full=True)), parse(markdown(session))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reference")


def printed(command: Command, folder: Path) -> str:
    """Return what a command prints or exports, or the message of its error."""
    words = [_file(word, folder) for word in command.words]
    exported = folder / "exported"
    if words[0] == "export":
        words += ["-o", str(exported)]
    try:
        done = CliRunner().invoke(app, words, catch_exceptions=False)
    except BenchtuiError as error:
        return str(error)
    return exported.read_text() if words[0] == "export" else done.output


def _file(word: str, folder: Path) -> str:
    if word in (COMPREHENSIVE, "quick-cpu", "recorded-classify"):
        return str(FIXTURES / f"{word.replace('recorded-', 'recorded/')}.json")
    if word in (GPT2, RUNNER, SIZES):
        documents(word, folder)
        return str(folder / word / "session.json")
    return str(folder / word) if word.endswith(".json") else word


@pytest.mark.parametrize("row", ROWS)
def test_row_of_a_published_report_has_its_fields(row: str, folder: Path) -> None:
    for evidence in ROWS[row]:
        if isinstance(evidence, Field):
            assert evidence.missing(documents(evidence.report, folder)) == []
        else:
            assert re.search(evidence.output, printed(evidence, folder), re.DOTALL), evidence.words


def test_every_row_of_the_page_has_a_test() -> None:
    table_rows = re.findall(r"^\| (.+?) \| .+ \|$", PAGE.read_text(), re.MULTILINE)
    assert [row for row in table_rows if row != "document"] == list(ROWS)
    assert len(ROWS) == 59


def test_a_field_that_differs_is_missing(folder: Path) -> None:
    wrong = (
        cells(COMPREHENSIVE, "Device", {"Case": "cuda:0 fp32 compile=off bs=8 seq=128"}, {"Step (×)": "28.8"}),
        texts(COMPREHENSIVE, "Decision", "617 samples/s"),
        cells(COMPREHENSIVE, "Devices", {}, {"Step (×)": "28.9"}),
    )
    assert all(field.missing(documents(COMPREHENSIVE, folder)) for field in wrong)


def test_fixture_matches_the_output_of_its_script(tmp_path: Path) -> None:
    make_comprehensive_report.write(tmp_path / "again.json")
    assert read_events(tmp_path / "again.json") == read_events(FIXTURES / "comprehensive-report.json")
