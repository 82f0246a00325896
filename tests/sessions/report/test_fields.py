"""Every field of the tables of a report follows from its results: random sessions and planted faults."""

import io
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from explained import SLOW, profile
from journals import import_results
from msgspec.structs import replace

from benchtui.sessions.events import Explained, Peaks
from benchtui.sessions.export import step_export
from benchtui.sessions.export.case_export import as_json
from benchtui.sessions.payloads import Effective, Environment, Gpu, Host, StepCost
from benchtui.sessions.report.document import markdown
from benchtui.sessions.report.overview import option_effects
from benchtui.sessions.report.sections import per_case
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.disturbance import undisturbed
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.sweep import Axes, Baseline, Sweep
from benchtui.sessions.text import quantities
from benchtui.sessions.text.formatting import percentage
from benchtui.sessions.text.tables import Column

from .checker.columns import OTHERS
from .checker.facts import OPTIONS
from .checker.recording import Recording
from .checker.sections import WITHOUT_NUMBERS, objections
from .drawn import Drawn

ROOT = Path(__file__).parents[3]
SEEDS = 300
AT_EACH_CHECK = 60
TASKS = ("classify", "generate", "lm-forward", "lm-train", "own-step")
"""Recorded sweeps of a tiny model, one for each task."""
COMPILED = Effective(weights_dtype="float32", output_dtype="float32", compiled=True)


def results_of(session: Session) -> dict[str, Any]:
    """Return what ``benchtui export --format json`` writes, with the rounds that ended and that count."""
    found: dict[str, Any] = json.loads(as_json(session))
    for row in found["cases"]:
        medians, case = row["rounds_p50_ms"], session.cases[row["case"]]
        row["ended_rounds"] = len(case.ends)
        row["counted_p50_ms"] = medians and undisturbed(case, medians)
    return found


def results_for_each_baseline(session: Session, results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results with each measured case as the baseline of its sequence length."""
    started, found = session.started, []
    for row in results["cases"]:
        if row["outcome"] == "ok" and not row["again"]:
            named = {name: row[name] for name in (*OPTIONS, "batch_size")}
            session.judge_by(VerdictSettings(baseline=Baseline(**named)))
            found.append(results_of(session))
            session.started = started
    return found


def objections_to(session: Session, report: str | None = None, recording: Recording | None = None) -> list[str]:
    """Return the checker's objections to both reports of a session, or to another text."""
    results = results_of(session)
    others = results_for_each_baseline(session, results)
    reports = [report] if report else [markdown(session), markdown(session, full=True)]
    found = (objections(results, each, others, recording=recording) for each in reports)
    return [objection for each in found for objection in each]


def recording_of(path: Path) -> Recording:
    """Return the steps of a session file, as ``benchtui export --steps`` writes them, and its events."""
    steps = io.BytesIO()
    step_export.write_csv(Session.load(path), steps)
    return Recording.parse(steps.getvalue().decode(), path.read_text())


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.long] if seed >= AT_EACH_CHECK else []) for seed in range(SEEDS)],
)
def test_drawn_report_agrees_with_its_results(seed: int) -> None:
    assert objections_to(Drawn(seed).session()) == []


RECORDED = (
    "sessions/library/demo/demo.json",
    "sessions/library/demo/demo-gpu.json",
    "sessions/library/demo/demo-cpu.json",
    "sessions/library/demo/demo-runtimes.json",
    "tests/fixtures/quick-cpu.json",
    "tests/fixtures/comprehensive-report.json",
    *(f"tests/fixtures/recorded/{name}.json" for name in TASKS),
)


@pytest.mark.parametrize("path", RECORDED)
def test_recorded_report_agrees_with_its_results(path: str) -> None:
    session = Session.load(ROOT / path, metrics)
    assert objections_to(session, recording=recording_of(ROOT / path)) == []


def test_imported_report_agrees_with_its_results(tmp_path: Path) -> None:
    file = ROOT / "tests" / "fixtures" / "optimum-benchmark.json"
    assert objections_to(import_results(file, tmp_path / "session.json", metrics)) == []


# --- planted faults


def test_checker_rejects_the_number_of_a_very_wide_interval(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = [[ms + step / 1000 for step in range(30)] for ms in (2.0, 10.0, 40.0)]
    session = bench.session(bench.case(1, 10.0, rounds=rounds), bench.case(2, 10.0))
    assert objections_to(session) == []
    monkeypatch.setitem(quantities.FORMATS, "half width", percentage)
    assert any("± 95% (%) is inf" in each for each in objections_to(session))


def test_checker_rejects_same_for_an_unsure_option(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(1, 10.3, compile="default", effective=COMPILED))
    assert objections_to(session) == []
    monkeypatch.setitem(option_effects._ADVICE, Verdict.UNSURE, option_effects._ADVICE[Verdict.SAME])
    assert any("that needs all to be SAME" in each for each in objections_to(session))


def test_checker_rejects_break_even_of_compiling_that_is_not_faster(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = {"compile": "default", "effective": COMPILED, "warmup_ms": [500.0]}
    session = bench.session(bench.case(1, 10.0), bench.case(1, 9.9, **compiled))
    assert objections_to(session) == []
    column = Column("Pays off after (steps)", lambda each: "50")
    monkeypatch.setattr(option_effects, "_COLUMNS", (*option_effects._COLUMNS, column))
    assert any("no pair is faster" in each for each in objections_to(session))


def test_checker_rejects_ranks_not_ordered_by_throughput(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, 15.0), bench.case(4, 28.0))
    assert objections_to(session) == []
    monkeypatch.setattr(per_case, "sorted", lambda rows, **how: list(rows), raising=False)
    assert any("not by throughput" in each for each in objections_to(session))


# --- every figure is compared with something


NOT_COMPARED = (
    *OTHERS,
    "Need",
    "Run",
    "Next best",
    "Workload",
    "Batch size",
    "Option",
    "Value",
    "Against",
    "On",
    "Compile",
    "Exporting, loading",
    "Pays off after (steps)",
    "Ended by",
    "Confidence",
    "Tokens",
    "Relative to the previous size",
    "Verdict",
)
"""Columns that name the row, or that quote a fact or a judgment."""


def altered(shown: str) -> str:
    """Return a number of the same form that is a third larger."""
    digits = len(shown.partition(".")[2])
    value = float(shown.replace(",", ""))
    sign = "+" if shown.startswith("+") else ""
    return f"{sign}{1.31 * value + (0 if digits else 1) + 3 * 10.0**-digits:.{digits}f}"


def cells(report: str) -> list[tuple[int, int]]:
    """Return the positions of the numbers in the tables that the checker compares, past the names of rows.

    No JSON judges ratios of the balance.
    """
    found, place, section, header = [], 0, "", []
    for line in report.splitlines(keepends=True):
        section = line[3:].strip() if line.startswith("## ") else section
        titles = [cell.strip() for cell in line.split("|")[1:-1]]
        compared = section not in WITHOUT_NUMBERS
        if line.startswith("|") and compared and not titles[0].startswith((":-", "-", "Balanced")):
            header = header if report[:place].endswith("|\n") else titles
            start = place
            for title, cell in zip(header, line.split("|")[1:-1], strict=True):
                start += 1
                if titles != header and title not in NOT_COMPARED:
                    found += [
                        (start + match.start(), start + match.end())
                        for match in re.finditer(r"(?<![\w.=-])[-+]?\d[\d,]*(?:\.\d+)?(?!\w)", cell)
                    ]
                start += len(cell)
        place += len(line)
    return found


@pytest.mark.parametrize("task", TASKS)
def test_checker_notices_any_changed_cell(task: str) -> None:
    path = ROOT / f"tests/fixtures/recorded/{task}.json"
    session = Session.load(path, metrics)
    report, results, recording = markdown(session, full=True), results_of(session), recording_of(path)
    others = results_for_each_baseline(session, results)
    known, numbers = set(objections(results, report, others, recording=recording)), cells(report)
    unnoticed = []
    for start, end in numbers[:: max(1, len(numbers) // 100)]:
        changed = report[:start] + altered(report[start:end]) + report[end:]
        if set(objections(results, changed, others, recording=recording)) <= known:
            unnoticed.append(f"{report[max(0, start - 90) : start]}$ {report[end : end + 20]}")
    assert len(numbers) > 100
    assert unnoticed == []


@pytest.mark.parametrize(("shown", "planted"), [(" 1.25 |", " 1.35 |"), ("| FASTER", "| SLOWER")])
def test_checker_notices_a_changed_gain_of_a_remedy(bench: Any, shown: str, planted: str) -> None:
    one = replace(profile(SLOW), threads=1, plain_ms=30.0)
    cases = (bench.steady(1, 30.0, threads=1), bench.steady(1, 24.0, threads=2))
    sweep = Sweep(name="hand", model="tiny", task="lm-forward", axes=Axes(threads=(1, 2)))
    session = bench.session(*cases, sweep=sweep, more=[Explained(t=98.0, case=0, created="", profile=one)])
    report, results = markdown(session), results_of(session)
    before, heading, tried = report.partition("## Tried")
    assert objections(results, report) == []
    assert shown in tried
    assert objections(results, before + heading + tried.replace(shown, planted, 1)) != []


@pytest.mark.parametrize(
    ("shown", "planted"),
    [(" 10.0 |", " 11.0 |"), ("sw power cap", "app clocks"), ("P0, P2", "P0"), (" 1,200 |", " 1,300 |")],
)
def test_checker_notices_a_changed_share_of_the_data_sheet_or_clock(
    bench: Any, shown: str, planted: str
) -> None:
    work = StepCost(flops=9.894e11, bytes_moved=1e9, bytes_of_weights=1e8)
    throttle = ("sw_power_cap", "hw_thermal")
    around = Environment(throttle=throttle, performance_states=(0, 2), graphics_clock_least_mhz=1200.0)
    end, prepared = {"work": work, "environment": around}, {"gpu_uuid": "GPU-1"}
    host = Host(gpus=(Gpu(index=0, name="NVIDIA H200", uuid="GPU-1"),))
    gpu = {"device": "cuda:0", "precision": "amp-bf16", "end": end, "prepared": prepared}
    made = bench.case(1, 10.0, **gpu), bench.case(2, 15.0)
    session, events = bench.session(*made, host=host), bench.events(*made, host=host)
    report, recording = markdown(session, full=True), Recording({}, msgspec.to_builtins(events))
    assert objections_to(session, report, recording) == []
    for place in [match.start() for match in re.finditer(re.escape(shown), report)]:
        changed = report[:place] + report[place:].replace(shown, planted, 1)
        assert objections_to(session, changed, recording) != [], report[place - 200 : place + 20]


@pytest.mark.parametrize("need", ["Balanced", "Steadiest steps"])
def test_checker_notices_a_verdict_that_contradicts_the_interval_beside_it(need: str) -> None:
    session = Drawn(0).session()
    report = markdown(session, full=True)
    rows = [line for line in report.splitlines() if line.startswith(f"| {need}") and "), FASTER" in line]
    assert rows
    changed = report.replace(rows[0], rows[0].replace("), FASTER", "), SLOWER"))
    assert any("the verdict is" in each for each in objections_to(session, changed))


def test_checker_rejects_a_table_or_column_that_it_does_not_know(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, 15.0))
    report, results = markdown(session, full=True), results_of(session)
    more = "\n## Loot\n\n| Chest | Gold |\n| :- | -: |\n| first | 3 |\n"
    assert any("a table that no check knows" in each for each in objections(results, report + more))
    renamed = report.replace("Jitter (%)", "Wobble (%)")
    assert any("unknown column: Wobble" in each for each in objections(results, renamed))


def test_checker_rejects_results_that_do_not_follow_from_the_steps() -> None:
    path = ROOT / "tests/fixtures/recorded/lm-train.json"
    session = Session.load(path, metrics)
    report, results, recording = markdown(session), results_of(session), recording_of(path)
    for name in ("latency_p50_ms", "samples_per_s", "tokens_per_s", "loss"):
        changed = {**results, "cases": [{**results["cases"][0], name: 1.5}, *results["cases"][1:]]}
        found = objections(changed, report, recording=recording)
        assert any(f": {name} is " in each for each in found)


# --- rules that random sessions once broke


def section_text(session: Session, title: str) -> str:
    """Return the text of a section of the full report, which has no objections."""
    report = markdown(session, full=True)
    assert objections_to(session, report) == []
    assert f"\n## {title}\n" in report
    return re.split(r"\n## ", report.partition(f"\n## {title}\n")[2])[0]


def test_advice_never_contradicts_a_recommendation(bench: Any) -> None:
    half = {"precision": "bf16", "effective": bench.effective(weights_dtype="bfloat16")}
    session = bench.session(
        bench.case(1, 10.0),
        bench.case(1, 20.0, **half),
        bench.case(1, 90.0, **half, sequence_length=512),
        bench.case(1, outcome="oom", sequence_length=512),
    )
    assert "cpu bf16 compile=off bs=1 seq=512" in section_text(session, "Choices")
    effects = section_text(session, "What each option brings")
    assert "| 1 SLOWER " in effects
    assert "Advice" not in effects


def test_no_share_exceeds_100_percent(bench: Any) -> None:
    peaks = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=1e11, bytes_per_s=1e10)
    work = StepCost(flops=5e8, bytes_moved=2e8, bytes_of_weights=1e7)
    text = section_text(bench.session(bench.case(1, 10.0, end={"work": work}), more=[peaks]), "Limits")
    assert "&gt; 100" in text
    assert "200.0" not in text


# --- answers, and shares of the data sheet's peak


def answering(bench: Any, **figures: Any) -> Session:
    """Build a session of a baseline and a faster case with another precision, whose answers were compared."""
    cases = (bench.steady(1, 10.0), bench.steady(2, 10.0, precision="bf16"), bench.steady(4, 15.0))
    answered = [bench.answered(0), bench.answered(1, **figures), bench.answered(2, absent="slow")]
    return bench.session(*cases, more=answered)  # type: ignore[no-any-return]


ANSWERS = (
    {"verdict": "close", "kl_mean": 4e-4, "kl_p99": 3e-14, "top1_agreement": 0.98, "sqnr_db": 40.83},
    {"verdict": "broken", "kl_mean": 7.1, "sqnr_db": -3.0},
    {"verdict": "different", "equal_tokens": 0.125, "first_difference": 3},
    {"verdict": "identical", "loss_difference": 0.0},
)


@pytest.mark.parametrize("figures", ANSWERS)
def test_compared_answers_follow_from_the_results(bench: Any, figures: dict[str, Any]) -> None:
    session = answering(bench, **figures)
    assert "## What the speed costs" in markdown(session)
    assert objections_to(session) == []


@pytest.mark.parametrize(
    ("words", "others"), [("0.0004", "0.0005"), ("98.0", "97.0"), ("40.8", "40.9"), ("CLOSE ", "OTHER ")]
)
def test_checker_notices_a_changed_answer(bench: Any, words: str, others: str) -> None:
    session = answering(bench, **ANSWERS[0])
    report = markdown(session, full=True)
    table = report.index("| Answer ")
    assert words in report[table:]
    assert objections_to(session, report[:table] + report[table:].replace(words, others, 1))
