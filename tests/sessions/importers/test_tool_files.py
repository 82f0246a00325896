"""Results of further tools, in the form that each tool writes or people print, with figures read by hand.

Tools of which a public file is at hand are in ``test_public_files``.
"""

from pathlib import Path
from typing import Any

import pytest
from journals import import_results

from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.importers import registry
from benchtui.sessions.importers.registry import detect
from benchtui.sessions.state.session import Session

FOLDER = Path(__file__).parents[2] / "fixtures" / "tools"
MIB = 2**20 / 1e6
MOST_LINES = 12
LATENCY, RATE, FIRST, PER_TOKEN, REQUEST = (
    *("latency_mean_ms", "samples_per_s", "time_to_first_token_p50_ms", "time_per_output_token_p50_ms"),
    "request_p50_ms",
)
TOOLS: dict[str, tuple[str, dict[str, dict[str, float]]]] = {
    "genai-perf.csv": (
        "genai-perf",
        {"load": {FIRST: 12.10, PER_TOKEN: 2.48, REQUEST: 330.07, RATE: 3.0, "new_tokens_per_s": 384.92}},
    ),
    "hyperfine.csv": (
        "hyperfine",
        {
            "python infer.py --bs 1": {LATENCY: 1234.1, "latency_std_ms": 12.34, "user_ms": 1100},
            "python infer.py --bs 8": {LATENCY: 2468.2, "latency_p50_ms": 2460, "system_ms": 240},
        },
    ),
    "hyperfine.md": (
        "hyperfine",
        {
            "rg -F needle": {LATENCY: 102.3, "latency_std_ms": 5.1},
            "grep -F needle": {LATENCY: 409.9, "latency_std_ms": 8.2},
        },
    ),
    "hyperfine-printed.txt": (
        "hyperfine",
        {
            "python a.py": {LATENCY: 102.3, "latency_std_ms": 5.1},
            "python b.py": {LATENCY: 1203, "latency_std_ms": 51},
        },
    ),
    "nvbench.csv": (
        "nvbench",
        {
            "copy T=I32": {LATENCY: 0.0085, "n": 1200},
            "copy T=I64": {LATENCY: 0.011, "latency_std_ms": 0.000231},
        },
    ),
    "jmh.json": (
        "jmh",
        {
            "org.sample.TokenizerBench.encode size=512": {LATENCY: 0.04127},
            "org.sample.TokenizerBench.encode size=1024": {LATENCY: 0.08403},
        },
    ),
    "llmperf-summary.json": (
        "llmperf",
        {
            "meta-llama/Llama-2-7b-chat-hf concurrency=1 in=550 out=150": {
                FIRST: 293.1,
                PER_TOKEN: 14.02,
                REQUEST: 2394.4,
                "new_tokens_per_s": 61.94,
                "time_to_first_token_p99_ms": 402.2,
            }
        },
    ),
    "lm-eval.json": ("lm-eval", {"cuda:0 EleutherAI/pythia-160m": {LATENCY: 137_503.1}}),
    "ollama.json": (
        "ollama",
        {"llama3.2": {LATENCY: 5035.166, FIRST: 325.953, "new_tokens_per_s": 290 / 5.035166}},
    ),
    "onnxruntime.csv": (
        "onnxruntime",
        {
            "cuda onnxruntime bert-base-cased fp16 bs=1 seq=128 io_binding=True": {
                LATENCY: 0.88,
                RATE: 1136.36,
                "n": 1000,
            },
            "cuda torch bert-base-cased fp16 bs=1 seq=128": {
                LATENCY: 6.72,
                RATE: 148.81,
                "latency_p99_ms": 7.31,
            },
        },
    ),
    "serving-printed.txt": (
        "serving-printed",
        {
            "1000 requests": {
                LATENCY: 45_200,
                RATE: 22.12,
                FIRST: 7898.12,
                PER_TOKEN: 142.33,
                "new_tokens_per_s": 4288.98,
                "tokens_per_s": 9098.56,
                "time_to_first_token_p99_ms": 18_901.22,
            }
        },
    ),
    "tensorrt-llm.csv": (
        "tensorrt-llm",
        {
            "fp16 new=128 bs=1 seq=128": {LATENCY: 1573.688, "new_tokens_per_s": 81.34},
            "fp16 new=128 bs=8 seq=128": {LATENCY: 1675.886, "peak_device_mb": 16_900},
        },
    ),
    "torchbench.csv": (
        "torchbench",
        {"cuda BERT_pytorch bs=16": {LATENCY: 27.113054}, "cuda hf_GPT2 bs=4": {LATENCY: 20.441882}},
    ),
    "transformers-benchmark.csv": (
        "transformers-benchmark",
        {
            f"bs=8 seq={length}": {LATENCY: latency_ms}
            for length, latency_ms in ((8, 6.0), (32, 6.0), (128, 18.0), (512, 88.0))
        },
    ),
    "trtexec-times.json": ("trtexec", {"case": {LATENCY: 2.34, "n": 3, "latency_p50_ms": 2.34}}),
    "vllm-latency.json": ("vllm-latency", {"case": {LATENCY: 512.6, "latency_p50_ms": 512.15, "n": 4}}),
    "vllm-throughput.json": (
        "vllm-throughput",
        {"case": {LATENCY: 24_512, RATE: 200 / 24.512, "tokens_per_s": 76_543 / 24.512}},
    ),
    "benchmark-dot-net.csv": ("table", {"Tokenize": {LATENCY: 0.0012345}, "TokenizeBatch": {LATENCY: 0.04567}}),
    "nvidia-deepspeed-inference.csv": (
        "table",
        {
            "bs=1 'column=FP16 latency (ms)'": {LATENCY: 4.91, RATE: 1000 / 4.91},
            "bs=1 'column=INT8 latency (ms)'": {LATENCY: 3.88},
            "bs=8 'column=FP16 latency (ms)'": {LATENCY: 13.4, RATE: 8000 / 13.4},
            "bs=8 'column=INT8 latency (ms)'": {LATENCY: 9.75},
        },
    ),
    "sentence-transformers.md": (
        "table",
        {
            "cuda all-MiniLM-L6-v2 bs=32": {RATE: 14_200, "peak_device_mb": 412 * MIB},
            "cuda all-mpnet-base-v2 bs=32": {RATE: 2800, "peak_device_mb": 1310 * MIB},
        },
    ),
    "tgi.md": (
        "table",
        {
            "bs=1 Step=Prefill": {LATENCY: 36.33, "latency_p50_ms": 36.21},
            "bs=2 Step=Prefill": {LATENCY: 50.11},
            "bs=1 'Step=Decode (token)'": {LATENCY: 24.99, "latency_p50_ms": 24.8},
        },
    ),
}
"""By file: tool, and figures of each case by its name."""


def figures_of(session: Session) -> dict[str, Any]:
    return {row.name: row for row, _ in rows(session)}


def require(session: Session, cases: dict[str, dict[str, float]]) -> None:
    by_name = figures_of(session)
    assert list(by_name) == list(cases)
    for name, figures in cases.items():
        for key, figure in figures.items():
            assert getattr(by_name[name], key) == pytest.approx(figure, rel=1e-9), (name, key)


@pytest.mark.parametrize("file", TOOLS)
def test_figures_are_those_of_the_file(imported: Any, file: str) -> None:
    tool, cases = TOOLS[file]
    assert detect(FOLDER / file) == tool
    require(imported(FOLDER / file), cases)


def test_maps_of_further_tools_have_a_dozen_lines() -> None:
    folder = Path(registry.__file__).parent / "maps"
    texts = [path.read_text("utf-8") for path in folder.glob("*.toml")]
    short = [text for text in texts if len(text.splitlines()) <= MOST_LINES]
    named = {tool for tool, _ in TOOLS.values()} - {"table"}
    assert named <= {
        line.split('"')[1] for text in short for line in text.splitlines() if line.startswith("tool")
    }


def test_map_by_hand_reads_columns_of_the_same_quantity_as_cases(tmp_path: Path) -> None:
    """AutoGPTQ's table of README, with tokens/s by quantization."""
    text = "model=model,GPU=device,fp16=new_tokens_per_s,gptq-int4=new_tokens_per_s"
    session = import_results(FOLDER / "autogptq.md", tmp_path / "s.json", map_text=text)
    rates = [row.new_tokens_per_s for row, _ in rows(session)]
    assert rates == [18.87, 25.53, 12.48, 15.25, None, 29.55]
    assert [case.state for case in session.cases].count("oom") == 1
