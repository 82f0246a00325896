"""Default reports of every source and task, as golden files without their sweeps.

``UPDATE_GOLDEN=1 pytest tests/sessions/report/test_golden.py`` writes them again.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from explained import explained
from journals import import_results

from benchtui.sessions.library import paths
from benchtui.sessions.payloads import Data, Memory, RequestTimes
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Axes, Baseline, Measure, Sweep, Task, task_named

from .test_fields import TASKS, objections_to

FIXTURES = Path(__file__).parents[2] / "fixtures"
GOLDEN = Path(__file__).parent / "golden"
SIZES = (1, 2, 4, 8)
DTYPES = {"fp32": "float32", "bf16": "bfloat16"}


RUNNER_STEPS_MS = {1: 50.3, 2: 140.1, 4: 175.3, 8: 504.2}
"""Mean steps by batch size that the author of the batch-sweep runner reports for a CPU."""


def batch_sizes(tmp_path: Path) -> Session:
    """Import the figures on which the runner's author found batch size 4 to be the best."""
    lines = [
        {
            "device": "cpu",
            "batch_size": size,
            "latency_ms_mean": ms,
            "sequence_length": 128,
            "precision": "fp32",
        }
        for size, ms in RUNNER_STEPS_MS.items()
    ]
    (tmp_path / "batch-sizes.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return imported(tmp_path, tmp_path / "batch-sizes.jsonl")


def imported(tmp_path: Path, name: str | Path) -> Session:
    """Import a file of another tool, on a fixed day."""
    session = import_results(FIXTURES / name, tmp_path / "session.json", metrics)
    session.started = msgspec.structs.replace(session.start, created="2026-11-22T10:00:00Z", id="imported")
    return session


def sweep(task: str, **measure: Any) -> Sweep:
    rules = Measure(baseline=Baseline(batch_size=1), **measure)
    return Sweep(name="hand", model="tiny", task=task, measure=rules)


def generating(bench: Any) -> Session:
    """Prompts of 128 tokens, 16 new ones each, with both kinds of KV cache."""

    def case(size: int, cache: str, ms: float) -> Any:
        parts = {"prefill": [0.2 * ms] * 30, "decode": [0.75 * ms] * 30}
        return bench.case(
            size,
            ms,
            cache=cache,
            parts=parts,
            prepared={"new_tokens": 16},
            columns={"tokens": [size * 144] * 30, "padded_tokens": [size * 144] * 30},
            effective=bench.effective(others={"cache": cache}),
            end={"memory": Memory(peak_rss_mb=800.0 + size, kv_cache_mb=4.5 * size)},
        )

    made = [case(size, "dynamic", 100 * size**0.3) for size in SIZES]
    made += [case(size, "static", 80 * size**0.3) for size in SIZES]
    return bench.session(*made, sweep=sweep("generate"))  # type: ignore[no-any-return]


def training(bench: Any) -> Session:
    """Two precisions: the loss of one falls, that of the other is not finite in the end."""

    def case(size: int, precision: str, ms: float, losses: list[float]) -> Any:
        return bench.case(
            size,
            ms,
            device="cuda:0",
            precision=precision,
            parts={"forward": [0.3 * ms] * 30, "backward": [0.6 * ms] * 30, "optimizer": [0.1 * ms] * 30},
            columns={"tokens": [size * 128] * 30, "loss": losses},
            effective=bench.effective(autocast_dtype="bfloat16" if precision != "fp32" else None),
            end={"memory": Memory(peak_allocated_mb=900.0 * size, peak_reserved_mb=1100.0 * size)},
        )

    falling = [4.0 - 0.05 * step for step in range(30)]
    broken = [*falling[:-1], float("nan")]
    made = [case(size, "fp32", 50.0 * size**0.8, falling) for size in SIZES]
    made += [case(size, "amp-bf16", 30.0 * size**0.8, broken) for size in SIZES]
    return bench.session(*made, sweep=sweep("lm-train"))  # type: ignore[no-any-return]


def with_profiles(bench: Any) -> Session:
    """Two precisions of one batch size, explained; a third case that can't be."""
    made = [bench.case(1, 28.5), bench.case(1, 16.3, precision="bf16"), bench.case(2, 31.0)]
    profiles = [explained(0), explained(1, fast=True), explained(2, absent="the machine has no room")]
    return bench.session(*made, sweep=sweep("classify"), more=profiles)  # type: ignore[no-any-return]


def embedding(bench: Any) -> Session:
    """Texts of 100 tokens each, in two precisions."""

    def case(size: int, precision: str, ms: float) -> Any:
        return bench.case(
            size,
            ms,
            precision=precision,
            parts={"tokenize": [0.1 * ms] * 30, "forward": [0.8 * ms] * 30, "pool": [0.05 * ms] * 30},
            prepared={"task": "embed"},
            columns={"tokens": [size * 100] * 30, "padded_tokens": [size * 128] * 30},
            effective=bench.effective(
                weights_dtype=DTYPES[precision], output_dtype=DTYPES[precision], others={"pooling": "mean"}
            ),
            end={"memory": Memory(peak_rss_mb=600.0 + size)},
        )

    made = [case(size, "fp32", 20 * size**0.7) for size in SIZES]
    made += [case(size, "bf16", 12 * size**0.7) for size in SIZES]
    return bench.session(*made, sweep=sweep("embed"))  # type: ignore[no-any-return]


def imaging(bench: Any) -> Session:
    """Images in two precisions."""
    data = Data(
        dataset="synthetic",
        samples=16,
        processor="ViTImageProcessor",
        shape="480 x 640, processed to 224 x 224 x 3",
    )

    def case(size: int, precision: str, ms: float) -> Any:
        return bench.case(
            size,
            ms,
            device="cuda:0",
            precision=precision,
            sequence_length=0,
            parts={"preprocess": [0.3 * ms] * 30, "forward": [0.6 * ms] * 30},
            prepared={"task": "image", "data": data},
            columns={"tokens": None},
            effective=bench.effective(weights_dtype=DTYPES[precision], output_dtype=DTYPES[precision]),
            end={"memory": Memory(peak_allocated_mb=400.0 + size, peak_reserved_mb=500.0 + size)},
        )

    made = [case(size, "fp32", 30 * size**0.9) for size in SIZES]
    made += [case(size, "bf16", 15 * size**0.9) for size in SIZES]
    return bench.session(*made, sweep=without_texts("image"))  # type: ignore[no-any-return]


def listening(bench: Any) -> Session:
    """Clips of 5 s in two precisions."""

    def case(size: int, precision: str, ms: float) -> Any:
        return bench.case(
            size,
            ms,
            sequence_length=0,
            precision=precision,
            audio_seconds=5,
            parts={"features": [0.2 * ms] * 30, "forward": [0.7 * ms] * 30},
            prepared={
                "task": "speech",
                "samples_per_step": size * 5,
                "data": Data(dataset="synthetic", samples=16, shape="5 s at 16,000 Hz"),
            },
            columns={"tokens": None},
            effective=bench.effective(weights_dtype=DTYPES[precision], output_dtype=DTYPES[precision]),
            end={"memory": Memory(peak_rss_mb=700.0 + size)},
        )

    made = [case(size, "fp32", 200 * size**0.8) for size in SIZES]
    made += [case(size, "bf16", 120 * size**0.8) for size in SIZES]
    return bench.session(*made, sweep=without_texts("speech"))  # type: ignore[no-any-return]


def serving(bench: Any) -> Session:
    """Requests whose first token takes a fifth of the step, and every further one a twentieth."""

    def case(size: int, precision: str, ms: float) -> Any:
        times = RequestTimes(
            first_token_ms=[0.2 * ms] * size, between_tokens_ms=[0.05 * ms] * 15 * size, request_ms=[ms] * size
        )
        return bench.case(
            size,
            ms,
            precision=precision,
            parts={"serve": [ms] * 30},
            prepared={"task": "serve-batch", "new_tokens": 16},
            columns={"tokens": [size * 100] * 30, "padded_tokens": [size * 100] * 30, "requests": [times] * 30},
            effective=bench.effective(weights_dtype=DTYPES[precision], output_dtype=DTYPES[precision]),
            end={"memory": Memory(peak_rss_mb=800.0 + size, kv_cache_mb=1.5 * size)},
        )

    made = [case(size, "fp32", 90 * size**0.4) for size in SIZES]
    made += [case(size, "bf16", 70 * size**0.4) for size in SIZES]
    return bench.session(*made, sweep=sweep("serve-batch"))  # type: ignore[no-any-return]


def without_texts(task: str) -> Sweep:
    return msgspec.structs.replace(sweep(task), dataset="synthetic", axes=Axes(sequence_length=(0,)))


def recorded(path: Path) -> Callable[[Any, Path], Session]:
    return lambda bench, tmp_path: Session.load(path, metrics)


MADE: dict[str, Callable[[Any, Path], Session]] = {
    "gpt2-training": lambda bench, tmp_path: imported(tmp_path, "gpt2-training-results.csv"),
    "gpt2-optimizers": lambda bench, tmp_path: imported(tmp_path, "gpt2-optimizers.csv"),
    "batch-sizes": lambda bench, tmp_path: batch_sizes(tmp_path),
    "batch-sweep": lambda bench, tmp_path: imported(tmp_path, "batch-sweep-runner.jsonl"),
    "generate": lambda bench, tmp_path: generating(bench),
    "lm-train": lambda bench, tmp_path: training(bench),
    "embed": lambda bench, tmp_path: embedding(bench),
    "image": lambda bench, tmp_path: imaging(bench),
    "speech": lambda bench, tmp_path: listening(bench),
    "serve-batch": lambda bench, tmp_path: serving(bench),
    "explained": lambda bench, tmp_path: with_profiles(bench),
}
REPORTS = {
    "quick-cpu": recorded(FIXTURES / "quick-cpu.json"),
    "demo": recorded(paths.demo_path()),
    "demo-gpu": recorded(paths.demo_path(paths.GPU_DEMO)),
    "demo-cpu": recorded(paths.demo_path(paths.CPU_DEMO)),
    "comprehensive-report": recorded(FIXTURES / "comprehensive-report.json"),
    **{f"recorded-{task}": recorded(FIXTURES / "recorded" / f"{task}.json") for task in TASKS},
    **MADE,
}


def without_sweep(report: str) -> str:
    """Leave out the sweep of a report: it states every entry, for a program rather than a reader."""
    return re.sub(r"^```toml\n.*?^```\n", "", report, flags=re.MULTILINE | re.DOTALL)


def assert_recorded(name: str, report: str) -> None:
    """Compare a report without its sweep with a golden file, which UPDATE_GOLDEN writes first."""
    place, shown = GOLDEN / f"{name}.md", without_sweep(report)
    if os.environ.get("UPDATE_GOLDEN"):
        place.write_text(shown)
    assert shown == place.read_text()


@pytest.mark.parametrize("name", REPORTS)
def test_default_report_is_as_recorded(name: str, bench: Any, tmp_path: Path) -> None:
    assert_recorded(name, markdown(REPORTS[name](bench, tmp_path)))


@pytest.mark.parametrize("name", MADE)
def test_numbers_and_sentences_follow_from_the_results(name: str, bench: Any, tmp_path: Path) -> None:
    """Those of recorded sessions are checked against their steps too, in the tests of the fields."""
    session = MADE[name](bench, tmp_path)
    task = task_named(session.start.sweep.task)
    for full in (False, True):
        report = markdown(session, full=full)
        if task.sample != "samples":
            report = in_samples(report, task)
        assert objections_to(session, report) == []


def in_samples(report: str, task: Task) -> str:
    """Return the report of a task as it would read for unnamed samples with a length in tokens, which is 0."""
    report = re.sub(r"Ranked(, 5 s)?$", "Ranked, 0 tokens", report, flags=re.MULTILINE)
    one, several = task.one_sample, task.sample
    words = {several: "samples", several.capitalize(): "Samples"}
    report = re.sub(rf"\b({'|'.join(words)})(?=/(s|day|J)\b)", lambda found: words[found[1]], report)
    return re.sub(rf"(J/|[Pp]er ){one}\b", r"\1sample", report)


def test_long_note_on_an_import_says_what_it_leaves_out(tmp_path: Path, read: Any) -> None:
    session = imported(tmp_path, "batch-sweep-runner.jsonl")
    (note,) = [each.text for each in session.messages if each.text.startswith("ignored fields: ")]
    short = next(text for text in _facts(read, markdown(session)) if text.startswith("Import: ignored fields"))
    shown, _, more = short.removesuffix(" more (all of them with --full)").rpartition(" and ")
    assert note.startswith(shown.removeprefix("Import: "))
    assert shown.count(", ") + 1 + int(more) == note.count(", ") + 1
    assert f"Import: {note}" in _facts(read, markdown(session, full=True))


def _facts(read: Any, text: str) -> list[str]:
    return [fact for section in read(text).sections for fact in section.paragraphs]


def test_report_names_what_only_the_full_one_has(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, 15.0))
    assert markdown(session).splitlines()[-1].startswith("More with --full: ")
    full = markdown(session, full=True)
    assert "--full" not in full
    assert "## Every case" in full and "## Every case" not in markdown(session)


def test_table_of_many_cases_has_the_fastest(bench: Any, read: Any) -> None:
    made = [bench.case(1, 10.0 + threads, threads=threads) for threads in range(1, 61)]
    document = read(markdown(bench.session(*made)))
    section = document["Results"]
    assert len(document["What each option brings"].tables[0]) == 1 + 10
    assert "10 of 60 cases, the fastest of each workload." in section.text
    assert [row[0] for row in section.columns("Threads")] == [str(threads) for threads in range(1, 11)]


def test_documentation_quotes_a_report_that_exists() -> None:
    page = (Path(__file__).parents[3] / "docs/reading-a-report.md").read_text()
    (quoted,) = re.findall(r"^```\n(- \*\*Run.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert quoted in (GOLDEN / "demo.md").read_text()
