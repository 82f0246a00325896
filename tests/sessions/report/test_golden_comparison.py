"""Comparisons as golden files: short, valid, and with ratios that follow from the recorded steps.

``UPDATE_GOLDEN=1 pytest tests/sessions/report/test_golden_comparison.py`` writes them again.
"""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable
from math import exp, log
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec
import pytest

from benchtui.sessions.compare.align import ComparedSession, SessionComparison, compare_sessions
from benchtui.sessions.export import step_export
from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.plots.render import render_comparison
from benchtui.sessions.report.compare import markdown, report
from benchtui.sessions.report.html import page
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics as summarize

from .test_golden import FIXTURES, assert_recorded
from .test_lint import MOST_LINES, problems

QUICK = FIXTURES / "quick-cpu.json"
RUNNER = FIXTURES / "batch-sweep-runner.jsonl"
DECIMALS = 0.006
"""Largest relative error of three significant digits, or of two decimals near 1."""


def events_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line.rstrip(",")) for line in path.read_text().splitlines()[1:-1]]


def configs_of(path: Path) -> dict[int, tuple[int, int]]:
    """Return tokens and batch size of each case that was started."""
    started = (event for event in events_of(path) if event["event"] == "case_started")
    return {
        each["case"]: (each["config"].get("sequence_length", 128), each["config"].get("batch_size", 1))
        for each in started
    }


def tuned_copy(folder: Path) -> Path:
    """Write quick-cpu.json again as another session: steps at 128 tokens take 0.7 of their time."""
    events, configs = events_of(QUICK), configs_of(QUICK)
    for event in events:
        if event["event"] == "session_started":
            event["id"] = "tuned"
        if event["event"] == "runtime":
            event["threads"] = 4
        if event["event"] == "steps" and configs[event["case"]][0] == 128:
            event["wall_ms"] = [0.7 * ms for ms in event["wall_ms"]]
            event["parts_ms"] = {name: [0.7 * ms for ms in times] for name, times in event["parts_ms"].items()}
    path = folder / "tuned.json"
    path.write_text("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n")
    return path


def runner_file(folder: Path, device: str) -> Path:
    """Write the runner's results of one device as a file of their own, and import it."""
    rows = [line for line in RUNNER.read_text().splitlines() if json.loads(line)["device"] == device]
    source, path = folder / f"{device}.jsonl", folder / f"{device}.json"
    source.write_text("\n".join(rows) + "\n")
    session_writer.write(registry.read(source), path)
    return path


def side(name: str, path: Path) -> ComparedSession:
    """Load a session; if it is imported, on a fixed day."""
    session = Session.load(path, summarize)
    if session.start.source:
        session.started = msgspec.structs.replace(session.start, created="2026-11-22T10:00:00Z", id=name)
    return ComparedSession.of(name, session)


def recorded(folder: Path) -> SessionComparison:
    return compare_sessions([side("quick-cpu", QUICK), side("tuned", tuned_copy(folder))])


def imported(folder: Path) -> SessionComparison:
    return compare_sessions([side(device, runner_file(folder, device)) for device in ("cpu", "cuda")])


def documented(folder: Path) -> SessionComparison:
    """Compare the rows of the published comparison of a CPU and a GPU."""
    rows = {
        "cpu": {"latency_ms_mean": 449.57, "throughput_mean": 17.83, "cpu_memory_mb_max": 1671.68},
        "gpu": {
            "latency_ms_mean": 16.10,
            "throughput_mean": 497.94,
            "cpu_memory_mb_max": 1599.68,
            "gpu_memory_mb_max": 746.88,
            "gpu_avg_power_w": 216.24,
        },
    }
    sides = []
    for name, figures in rows.items():
        path = folder / f"{name}.jsonl"
        device = {"cpu": "cpu", "gpu": "cuda"}[name]
        path.write_text(
            json.dumps(
                {"device": device, "batch_size": 8, "sequence_length": 128, "precision": "fp32"} | figures
            )
        )
        session_writer.write(registry.read(path), folder / f"{name}.json")
        sides.append(side(name, folder / f"{name}.json"))
    return compare_sessions(sides)


COMPARISONS: dict[str, Callable[[Path], SessionComparison]] = {
    "recorded": recorded,
    "imported": imported,
    "documented": documented,
}


@pytest.fixture(params=list(COMPARISONS))
def named(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, SessionComparison]:
    return request.param, COMPARISONS[request.param](tmp_path)


def test_comparison_is_as_recorded_and_short(named: tuple[str, SessionComparison]) -> None:
    name, compared = named
    text = markdown(compared)
    assert_recorded(f"comparison-{name}", text)
    assert len(text.splitlines()) <= MOST_LINES + 20  # tables too wide for a terminal are split
    assert problems(text) == []


def typical_ms(path: Path) -> dict[tuple[int, int], float]:
    """Return the typical step by tokens and batch size, computed from ``export --steps`` alone."""
    out = io.BytesIO()
    step_export.write_csv(Session.load(path), out)
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in csv.DictReader(io.StringIO(out.getvalue().decode())):
        if row["phase"] == "measure":
            found[int(row["case"])][row["round"]].append(float(row["wall_ms"]))
    configs = configs_of(path)
    return {
        configs[case]: exp(fmean(log(median(each)) for each in rounds.values()))
        for case, rounds in found.items()
    }


def test_every_ratio_follows_from_the_exported_steps(tmp_path: Path, read: Any) -> None:
    old, new = typical_ms(QUICK), typical_ms(tuned_copy(tmp_path))
    document = read(markdown(recorded(tmp_path)))
    rows = document["B (tuned) against A (quick-cpu)"].columns(
        "Case", "Ratio (×)", "A step (ms)", "B step (ms)"
    )
    assert len(rows) == len(old) == 8
    ratios = {}
    for name, *cells in rows:
        *_, size, tokens = name.split()
        key = int(tokens.removeprefix("seq=")), int(size.removeprefix("bs="))
        ratios[key] = old[key] / new[key]
        assert [float(cell) for cell in cells] == pytest.approx([ratios[key], old[key], new[key]], rel=DECIMALS)
    mean = exp(fmean(map(log, ratios.values())))
    shown = document["Interpretation"].columns("Quantity", "Against A (×)")
    assert shown[:2] == [["Latency (typical step)", f"{mean:.2f}"], ["Throughput", f"{mean:.2f}"]]


def test_ratios_of_an_import_follow_from_its_file(tmp_path: Path, read: Any) -> None:
    rows = [json.loads(line) for line in RUNNER.read_text().splitlines()]
    rates = {
        (row["device"], row["batch_size"]): row["metrics"]["throughput_mean"]
        for row in rows
        if not row["mixed_precision"]
    }
    section = read(markdown(imported(tmp_path)))["B (cuda) against A (cpu)"]
    for (name, ratio), size in zip(section.columns("Case", "Ratio (×)"), (16, 8), strict=True):
        assert name == f"cpu fp32 compile=off bs={size} seq=128"
        assert float(ratio) == pytest.approx(rates["cuda", size] / rates["cpu", size], rel=DECIMALS)


@pytest.mark.parametrize("made", [recorded, imported])
def test_page_holds_the_document_and_its_plots(
    made: Callable[[Path], SessionComparison], tmp_path: Path
) -> None:
    compared = made(tmp_path)
    plots, skipped = render_comparison(compared)
    text = "".join(page(report(compared), plots, skipped))
    assert [plot.name for plot in plots] == ["throughput", "latency", "ratios"] and not skipped
    assert text.count("<figure") == 3
    for heading in ("Decision", "Interpretation", "Cases", "Systems", "What differs", "Limitations"):
        assert f">{heading}</h2>" in text
