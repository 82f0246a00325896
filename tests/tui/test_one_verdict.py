"""Every screen, report, plot, export and command gives a pair of cases the same verdict.

Sessions are drawn at random: rounds, disturbed cases, an A/A pair, a baseline that has no figures, results of a
source that kept no steps. Beside them stand the recorded ones.
"""

import csv
import io
import json
import re
import shutil
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from journals import write_journal
from random_sessions import random_events, run

import benchtui.tui.charts.screen  # noqa: F401 -- defines the keys that hints name
from benchtui.sessions.advice.conclusion import conclude
from benchtui.sessions.advice.objectives import Objective
from benchtui.sessions.advice.optimal import NEAR_ENOUGH, decide, works
from benchtui.sessions.analysis.chart_series import LATENCY, SAMPLES
from benchtui.sessions.compare.align import SessionComparison, compare_sessions, load_sessions
from benchtui.sessions.compare.gate import Gate, gate_line
from benchtui.sessions.events import CaseFinished, Explained, RoundFinished, SessionStarted
from benchtui.sessions.export import case_export as exported
from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.journal.reader import read
from benchtui.sessions.library.paths import CPU_DEMO, GPU_DEMO, demo_path
from benchtui.sessions.payloads import Host
from benchtui.sessions.plots.bars import case_speedups
from benchtui.sessions.plots.spec import plot_data
from benchtui.sessions.report import compare
from benchtui.sessions.report.comparison.decision import sentences
from benchtui.sessions.report.content import Items
from benchtui.sessions.report.overview.decision import choices, decision
from benchtui.sessions.report.sections.per_case import leaderboard
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.ratios import latency_ratio, throughput_ratio
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.sweep import Baseline, Config, Measure, Sweep
from benchtui.sessions.sweep.options import OPTIONS
from benchtui.sessions.text.conclusion import headline
from benchtui.sessions.text.formatting import ratio_text
from benchtui.sessions.text.tables import Table
from benchtui.sessions.text.wording import MOST_NAMES, why_unsure
from benchtui.themes.symbols import UNICODE
from benchtui.tui.charts.line_chart import LineChart
from benchtui.tui.cli import app
from benchtui.tui.cli.text.compare import comparison_text
from benchtui.tui.compare import rows as abreast
from benchtui.tui.compare.panels import ComparisonSummary, detail_lines, summary_lines
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.model.case_rows import CaseRows
from benchtui.tui.model.row_cells import VERDICT_ROLES

Words = dict[int, str | None]
"""By the number of a case: the word against its baseline, ``base`` for that itself, None without a ratio."""

FILES = Path(__file__).parents[1] / "fixtures"
DEMO = demo_path(CPU_DEMO)
RECORDED = [
    DEMO,
    demo_path(GPU_DEMO),
    *sorted(path for path in FILES.glob("*.json") if b"session_started" in path.read_bytes()[:99]),
]
SOURCES = [
    FILES / name for name in ("gpt2-training-results.csv", "batch-sweep-runner.jsonl", "optimum-benchmark.json")
]
"""Results of other tools; the table of training runs has one row twice, which tells of its noise."""
JUDGINGS = [
    SWEEP_DEFAULTS,
    VerdictSettings(same_within=0.2),
    VerdictSettings(Baseline(batch_size=4)),
    VerdictSettings(Baseline(precision="bf16", batch_size=4), same_within=0.0),
]
SEEDS = range(18)
AT_EACH_CHECK = 6
"""Number of generated sessions that are compared in all places at each check; the others in the long run."""
MIRRORED = {"FASTER": "SLOWER", "SLOWER": "FASTER"} | {word: word for word in ("SAME", "UNSURE", "REPORTED")}


@cache
def written(seed: int, again: int, folder: Path, slower: float = 1.0) -> Path:
    path = folder / f"{'ab'[again]}{seed}{'-slower' if slower > 1 else ''}.json"
    return write_journal(path, random_events(seed, again, slower))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drawn")


@cache
def imported(source: Path, folder: Path) -> Path:
    path = folder / f"{source.stem}.session.json"
    session_writer.write(registry.read(source), path)
    return path


@pytest.fixture(
    params=[
        *(pytest.param(seed, marks=[pytest.mark.long] if seed >= AT_EACH_CHECK else []) for seed in SEEDS),
        *RECORDED,
        *SOURCES,
    ],
    ids=lambda each: each.name if isinstance(each, Path) else f"{each}",
)
def path(request: pytest.FixtureRequest, folder: Path) -> Path:
    if isinstance(request.param, int):
        return written(request.param, 0, folder)
    return imported(request.param, folder) if request.param in SOURCES else request.param


def load_with(path: Path, judging: VerdictSettings) -> Session:
    session = Session.load(path)
    session.judge_by(judging)
    return session


def monitor_verdicts(path: Path, judging: VerdictSettings) -> Words:
    """Return the verdicts of the table, which is drawn while cases still end."""
    session = Session()
    case_rows: CaseRows | None = None
    for event in read(path).events:
        session.apply(event)
        case_rows = case_rows or CaseRows(session, UNICODE, judging=judging)
        if isinstance(event, CaseFinished | RoundFinished):
            case_rows.refresh([session.cases[event.case]] if isinstance(event, CaseFinished) else [])
            for case in session.cases:
                case_rows.row(case.index).cells["base"]
    if case_rows is None:
        return {}
    cells = {case.index: case_rows.row(case.index).cells["base"] for case in session.cases}
    return {
        index: _verdict_word(*cell) for index, cell in cells.items() if not session.cases[index].config.repeat
    }


def _verdict_word(text: str, role: str) -> str | None:
    if text in ("base", "no base", "pending", UNICODE.absent):
        return "base" if text == "base" else None
    (verdict,) = [verdict for verdict, known in VERDICT_ROLES.items() if known == role]
    assert text.startswith("≈") is (verdict is Verdict.SAME) and text.endswith("?") is (
        verdict is Verdict.UNSURE
    )
    return verdict.name


def test_explained_baseline_is_still_the_baseline() -> None:
    session = Session.load(demo_path(CPU_DEMO), metrics)
    judge = CaseVerdicts(session, SWEEP_DEFAULTS)
    for case in session.cases:
        judge.add_ended(case)
    base = next(case for case in session.cases if judge.is_base(case))
    session.apply(Explained(t=session.now_s, case=base.index, created="", absent="no room"))
    again = session.cases[base.index]
    assert again is not base
    assert judge.is_base(again) and judge.verdict(again) is None


def chart_verdicts(path: Path, judging: VerdictSettings) -> Words:
    """Return the verdicts of the line below the chart, at every point."""
    session = Session.load(path)
    judge = CaseVerdicts(session, judging)
    for case in session.cases:
        judge.add_ended(case)
    chart = LineChart(session, lambda case: metrics(case) if case.state == "ok" else None, UNICODE, judge)
    found: Words = {}
    for line in chart.chart.lines:
        for point in line.points:
            chart.choice.line, chart.choice.x = line.key, point.x
            said = [text.strip() for fact in chart.readout() for text, _ in fact]
            word = next((each for each in said if each in MIRRORED), None)
            found[point.case.index] = word or ("base" if "the baseline" in said else None)
    return {index: word for index, word in found.items() if not session.cases[index].config.repeat}


def leaderboard_verdicts(path: Path, judging: VerdictSettings) -> list[str | None]:
    """Return the leaderboard's verdicts in rank order, by sequence length."""
    session = load_with(path, judging)
    results = measured(session)
    ranked_works = leaderboard(session, results, None)
    tables = [shown for work in ranked_works if work for shown in work.content if isinstance(shown, Table)]
    rows = [dict(zip(shown.titles, row, strict=True)) for shown in tables for row in shown.rows]
    cells = [row.get("Verdict") for row in rows]
    return ["base" if cell == "the baseline" else cell and cell.split(":")[0] for cell in cells]


def ranked(path: Path, judging: VerdictSettings) -> list[int]:
    """Return the indices of the cases in leaderboard order."""
    session = load_with(path, judging)
    found = []
    for work in works(session):
        rows = [each for each in measured(session) if each.config.work == work]
        rated = [each for each in rows if each.metrics.samples_per_s]
        rated.sort(key=lambda each: each.metrics.samples_per_s or 0.0, reverse=True)
        found += [each.case.index for each in rated] if len(rated) > 1 else []
    return found


def row_verdicts(rows: list[dict[str, Any]]) -> Words:
    """Return the verdicts of export rows, whose numbers may be text."""
    plain = [row for row in rows if str(row["again"]).lower() == "false"]
    return {
        int(row["case"]): "base" if str(row["case"]) == str(row["baseline"]) else row["verdict"] or None
        for row in plain
    }


def next_to_a_neighbor(row: dict[str, Any]) -> bool:
    """Whether nothing bounds a case's ratio because of something outside the cases, so that it isn't shown."""
    return row["verdict_doubt"] == "outside" and row["speedup_low"] is None


def plot_verdicts(path: Path, judging: VerdictSettings) -> list[str]:
    return sorted(place.ratio.verdict.name for place in case_speedups(plot_data(load_with(path, judging))))


@pytest.mark.parametrize("judging", JUDGINGS, ids=["as swept", "within 20%", "against bs 4", "against bf16"])
def test_every_view_gives_a_case_the_same_verdict(path: Path, judging: VerdictSettings) -> None:
    session = load_with(path, judging)
    words = row_verdicts(list(csv.DictReader(io.StringIO(exported.as_csv(session)))))
    assert row_verdicts(json.loads(exported.as_json(session))["cases"]) == words
    assert monitor_verdicts(path, judging) == words
    assert chart_verdicts(path, judging) == words
    board = leaderboard_verdicts(path, judging)
    if any(board):  # a column that nothing stands in is left out
        assert board == [words[index] for index in ranked(path, judging)]
    rows = json.loads(exported.as_json(session))["cases"]
    drawn = (words.get(row["case"]) for row in rows if not next_to_a_neighbor(row))
    assert plot_verdicts(path, judging) == sorted(word for word in drawn if word in MIRRORED)


def test_generated_sessions_cover_every_verdict(folder: Path) -> None:
    """The agreement above covers more than one verdict."""
    found = [
        word
        for seed in SEEDS
        for word in row_verdicts(
            json.loads(exported.as_json(load_with(written(seed, 0, folder), SWEEP_DEFAULTS)))["cases"]
        ).values()
    ]
    words = MIRRORED.keys() - {"REPORTED"}  # imported files cover that one
    assert {*words, "base", None} == set(found)
    assert all(found.count(word) >= 3 for word in words)


def test_the_monitor_ratio_equals_the_report_ratio(path: Path) -> None:
    session = Session.load(path)
    case_rows = CaseRows(session, UNICODE)
    case_rows.refresh(session.cases)
    for row in json.loads(exported.as_json(session))["cases"]:
        if row["speedup"] is not None and row["baseline"] != row["case"]:
            shown = "" if next_to_a_neighbor(row) else f"{ratio_text(row['speedup'])}x"
            assert case_rows.row(row["case"]).cells["base"][0].strip("≈?*") == shown


def test_the_monitor_interval_equals_the_report_interval(path: Path) -> None:
    session = Session.load(path)
    case_rows = CaseRows(session, UNICODE)
    case_rows.refresh(session.cases)
    for result in measured(session):
        told = result.typical_bounds and result.typical_bounds.half_width_percent
        assert case_rows.value(result.case, "interval") == (told and pytest.approx(told, rel=1e-6))


def test_summarizing_cases_changes_no_verdict_or_interval(path: Path) -> None:
    """Evicted steps of ended cases are replaced by their metrics."""
    session = Session.load(path)
    case_rows, after = CaseRows(session, UNICODE), CaseRows(session, UNICODE)
    case_rows.refresh(session.cases)
    before = _cells(session, case_rows)
    for case in session.cases:
        if case.state == "ok" and len(case.measured):
            case.metrics = metrics(case)
            case.drop_steps()
    case_rows.refresh(())
    after.refresh(session.cases)
    assert _cells(session, case_rows) == _cells(session, after) == before
    assert exported.as_csv(Session.load(path, metrics)) == exported.as_csv(Session.load(path))


def _cells(session: Session, case_rows: CaseRows) -> list[tuple[str, str]]:
    rows = [case_rows.row(case.index).cells for case in session.cases]
    return [(cells["base"][0], cells["interval"][0]) for cells in rows]


def test_a_very_long_case_counts_toward_noise_once_summarized(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rounds each; the first case has too many steps to metrics between two frames."""
    session, case_rows = Session(), None
    plan = tuple(Config(device="cpu", batch_size=size) for size in (1, 2, 4))
    sweep = Sweep(name="long", model="tiny", measure=Measure(rounds=2))
    start = SessionStarted(t=0.0, id="l", created="2026-11-21T10:00:00Z", sweep=sweep, plan=plan, host=Host())
    session.apply(start)
    dice = Random(1)
    for index, (config, steps, apart) in enumerate(zip(plan, (60, 10, 10), (1.3, 1.0, 1.0), strict=True)):
        times = [[10.0 * by * dice.lognormvariate(0, 0.01) for _ in range(steps)] for by in (1.0, apart)]
        session.apply_all(run(index, config, times, disturbed=False))
    monkeypatch.setattr("benchtui.tui.live.case_verdicts.THREAD_STEPS", 50)
    case_rows = CaseRows(session, UNICODE)
    case_rows.refresh(session.cases)
    case = session.cases[2]
    assert case_rows.verdicts.verdict(case) is None, "its baseline isn't summed up yet"
    assert case_rows.verdicts._noise_estimates()["cpu"].pool.freedom == 2
    session.cases[0].metrics = metrics(session.cases[0])
    case_rows.refresh(())
    (result,) = [each for each in measured(session) if each.case is case]
    found = case_rows.verdicts.verdict(case)
    assert found is not None
    assert found.high == throughput_ratio(measured(session)[0], result).high  # type: ignore[union-attr]


def test_charts_have_the_intervals_of_the_report(path: Path) -> None:
    session = Session.load(path)
    judge = CaseVerdicts(session, SWEEP_DEFAULTS)
    for case in session.cases:
        judge.add_ended(case)
    chart = LineChart(session, lambda case: metrics(case) if case.state == "ok" else None, UNICODE, judge)
    rows = {row["case"]: row for row in json.loads(exported.as_json(session))["cases"]}
    for metric, name in ((SAMPLES, "samples_per_s{}"), (LATENCY, "latency_typical{}_ms")):
        chart.choice.metric, chart.choice.automatic = metric, False
        chart.update()
        for dot in (dot for curve in chart.plot().curves for dot in curve.dots):
            found = [rows[dot.case][name.format(end)] for end in ("", "_low", "_high")]
            assert [dot.y, dot.low, dot.high] == [each and pytest.approx(each) for each in found]


def optimal(path: Path, *options: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, ["optimal", str(path), "--json", *options])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return list(json.loads(done.stdout)["decisions"])


def test_optimal_agrees_with_the_table_on_best_versus_next(path: Path) -> None:
    """With the best case as baseline, the table's verdict on the next equals ``optimal``'s on the best."""
    words = row_verdicts(json.loads(exported.as_json(Session.load(path)))["cases"])
    for said in optimal(path):
        for row in filter(None, (said["best"], said["runner_up"], said["leader"], *said["front"])):
            assert row_verdicts([row]) == {row["case"]: words[row["case"]]}
        if against := said["against_baseline"]:
            assert against["verdict"] == words[said["best"]["case"]]
        best, other = said["best"], said["runner_up"]
        if other is None:
            continue
        options = ("device", "precision", "batch_size", "sequence_length", "attention", "compile", "threads")
        wanted = [f"--baseline={option}={best[option]}" for option in options if best[option] != "unknown"]
        done = CliRunner().invoke(app, ["export", str(path), "--format", "json", *wanted])
        against_best = row_verdicts(json.loads(done.stdout)["cases"])
        if against_best[best["case"]] == "base":
            assert against_best[other["case"]] == MIRRORED[said["verdict"]]
        assert said["ahead"]["verdict"] == said["verdict"]


@pytest.mark.parametrize("need", ["throughput", "latency", "balanced"])
def test_optimal_ties_are_not_distinguished_by_the_table(path: Path, need: Any) -> None:
    session = Session.load(path)
    for work in works(session):
        choice = decide(session, Objective(need, work=work))
        ratio = {"throughput": throughput_ratio, "latency": latency_ratio}.get(need)
        others = [row for row in measured(session) if row.config.work == work]
        if choice.best is None or ratio is None:
            continue
        own = next(row for row in others if row.case.index == choice.best.case.index)
        words = {
            row.case.index: found.verdict for row in others if row is not own and (found := ratio(row, own))
        }
        tied = {row.case.index for row in choice.ties}
        assert not {index for index in tied if words[index] in (Verdict.FASTER, Verdict.SLOWER)}
        assert Verdict.SLOWER not in words.values(), "a case surely better than the one that is chosen"
        if choice.clear:
            assert set(words.values()) == {Verdict.FASTER}


def starred(session: Session) -> list[CaseState]:
    """Return the cases with a star in the table."""
    case_rows = CaseRows(session, UNICODE)
    case_rows.refresh(session.cases)
    case_rows.star(conclude(session).starred)
    return [case for case in session.cases if case_rows.row(case.index).lead[0] == UNICODE.best]


def test_the_starred_rows_are_the_cases_that_the_report_says_to_run(path: Path) -> None:
    """The answer says to run the same ones. Of a work with a single case, nothing is chosen."""
    session = Session.load(path)
    first, _ = decision(session, choices(session, measured(session)))
    assert first is not None and isinstance(first.content[0], Items)
    answers = first.content[0].items
    conclusions = conclude(session)
    works = [option.name for option in OPTIONS if option.work and len(conclusions.works) > 1]
    for conclusion in conclusions.works[:MOST_NAMES]:
        name = conclusion.best.name
        run = [answer for answer in answers if str(conclusion.best.config.work) in answer[0] or not works]
        said = [lead for lead, text in run if lead.startswith("Run") and text.startswith(f"{name}, ")]
        loss = conclusion.choice.likely_within
        near = conclusion.better_than_baseline or (loss is not None and loss <= NEAR_ENOUGH)
        for_now = near and not conclusion.decided
        assert bool(said) is (conclusion.decided or for_now)
        assert all(lead.startswith("Run for now") is for_now for lead in said)
        assert conclusion.decided or conclusion.rivals
        start = "run " if conclusion.decided else "run for now " if for_now else "not decided: "
        assert headline(conclusion).startswith(start)
    chosen = [work for work in conclusions.works if work.decided and work.choice.runner_up]
    assert {case.index for case in starred(session)} == {work.best.case.index for work in chosen}


def test_generated_sessions_have_starred_rows(folder: Path) -> None:
    """The agreement above covers cases with and without a star."""
    found = set()
    for seed in SEEDS:
        found.add(bool(starred(Session.load(written(seed, 0, folder)))))
    assert found == {True, False}


def pairs_of(path: Path, folder: Path) -> list[tuple[Path, Path]]:
    seed = re.fullmatch(r"a(\d+)", path.stem)
    copy = Path(shutil.copy(path, folder / "copy.json"))
    others = [written(int(seed[1]), 1, folder, slower) for slower in (1.0, 1.3)] if seed else []
    return [(path, other) for other in (copy, *others)]


@pytest.mark.parametrize("within", [None, 0.1])
def test_every_view_gives_a_pair_the_same_verdict(path: Path, folder: Path, within: float | None) -> None:
    for paths in pairs_of(path, folder):
        found = compare_sessions(load_sessions(paths, VerdictSettings(same_within=within)))
        (against,) = found.against
        words = {row.case.index: row.verdict.name if row.verdict else None for row in against.rows}
        assert _page_verdicts(found) == words
        assert _detail_verdicts(found) == words
        said = [word for word in words.values() if word]
        margin = ["--same-within", f"{100 * within}%"] if within is not None else []
        assert _command_verdicts(paths, margin) == words
        _, gate = gate_line(against, Gate(case=9.9))
        for word in ("SLOWER", "UNSURE", "REPORTED"):
            counted = re.search(rf"(\d+) {word}\b", gate)
            assert int(counted[1] if counted else 0) == said.count(word)
        lost = any(row.lost for row in against.rows)
        assert gate_line(against, Gate(case=0.0))[0] is (lost or "SLOWER" in said)
        for text in (comparison_text(found), compare.markdown(found)):
            words_of_rows = re.findall(r"\b(?:FASTER|SLOWER|SAME|UNSURE|REPORTED)\b", _table_of(text))
            assert sorted(words_of_rows) == sorted(said)
            sum_of_all = against.overall.ratio.verdict.name if against.overall else None
            for word in MIRRORED:
                amount = said.count(word)
                in_sum = amount == len(said) and word == sum_of_all  # which says it already
                assert bool(re.search(rf"(?<![\d.]){amount}\s{{1,3}}{word}", text)) == (
                    bool(amount) and not in_sum
                )


@pytest.mark.parametrize("within", [None, 0.1])
def test_every_view_gives_all_cases_together_the_same_verdict(
    path: Path, folder: Path, within: float | None
) -> None:
    for paths in pairs_of(path, folder):
        found = compare_sessions(load_sessions(paths, VerdictSettings(same_within=within)))
        word = sum_of(found)
        sentence = " ".join(sentences(found)[0].split())
        known = found.against[0].overall
        assert gate_line(found.against[0], Gate(overall=0.0))[0] is (word == "SLOWER")
        assert bool(known and known.ratio.shown is not None) is (" × as fast as " in sentence)
        summary = ComparisonSummary(found, tuple(sentences(found)), 1, 1, "", "plan")
        page = " ".join(" ".join(text for text, _ in line) for line in summary_lines(summary, 400, 40, UNICODE))
        margin = ["--same-within", f"{100 * within}%"] if within is not None else []
        done = CliRunner().invoke(app, ["compare", *map(str, paths), "--format", "json", *margin])
        overall = json.loads(done.stdout)["against"][0]["overall"]
        assert (overall and overall["ratio"]["verdict"]) == word
        if overall is None:
            continue
        assert re.search(rf" over [\d,]+ (of [\d,]+ )?cases?( \([^)]*\))?, {word}\b", sentence)
        for text in (comparison_text(found), compare.markdown(found), page):
            assert without_signs(sentence) in without_signs(text.replace("- ", ""))
        if overall["cases"] > 1:
            assert re.search(rf"all ([\d.,]+x )?[=FSr?]? ?{word}\b", page)


def without_signs(text: str) -> str:
    """Return a text in one line, without the sign of ratios, which screens write as x."""
    return re.sub(r" ×|(?<=\d)x\b", "", " ".join(text.split()))


def sum_of(found: SessionComparison) -> str | None:
    overall = found.against[0].overall
    return overall.ratio.verdict.name if overall else None


def test_sums_of_generated_and_imported_sessions_have_several_verdicts(folder: Path) -> None:
    """The agreement above covers more than one verdict."""
    pairs = [(written(seed, 0, folder), written(seed, 1, folder)) for seed in SEEDS]
    pairs += [(written(seed, 0, folder), written(seed, 1, folder, slower=1.3)) for seed in SEEDS]
    pairs += [(slower, path) for path, slower in pairs[-len(SEEDS) :]]
    for path in (pairs[1][0], imported(SOURCES[0], folder)):
        pairs.append((path, Path(shutil.copy(path, folder / f"again-{path.stem}.json"))))
    words = {sum_of(compare_sessions(load_sessions(pair))) for pair in pairs}
    assert words >= {*MIRRORED}


def test_next_asks_about_the_cases_that_the_table_leaves_open(path: Path) -> None:
    session = Session.load(path)
    words = row_verdicts(json.loads(exported.as_json(session))["cases"])
    done = CliRunner().invoke(app, ["next", str(path), "--json"])
    if done.exception:
        assert session.start.source and "benchtui can't run them" in str(done.exception)
        return
    asked = [each for each in json.loads(done.stdout)["questions"] if "verdict" in each["about"]]
    found = {each["cases"][1]["case"]: each["ratio"]["verdict"] for each in asked}
    assert found == {index: word for index, word in words.items() if word in ("UNSURE", "REPORTED")}


def test_imported_results_are_reported_in_every_view(folder: Path) -> None:
    """The agreement above covers REPORTED, which no session with steps has."""
    path = imported(SOURCES[0], folder)
    assert set(row_verdicts(json.loads(exported.as_json(Session.load(path)))["cases"]).values()) >= {"REPORTED"}
    assert {said["verdict"] for said in optimal(path)} == {"REPORTED"}


def _table_of(text: str) -> str:
    """Return the lines of a comparison that are case rows."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if re.match(r"^(\| |  )(cpu|cuda)\S* ", line))


def _page_verdicts(found: Any) -> Words:
    rows = {entry.row.case.index: abreast.row(entry, UNICODE) for entry in abreast.entries(found)}
    states = {index: row.cells["state"][0].split()[-1] for index, row in rows.items()}
    return {index: state if state in MIRRORED else None for index, state in states.items()}


def _detail_verdicts(found: Any) -> Words:
    shown: Words = {}
    for entry in abreast.entries(found):
        lines = detail_lines(entry, 140, 12, UNICODE)
        texts = ["".join(text for text, _ in line) for line in lines]
        word = texts[0].split()[-1]
        shown[entry.row.case.index] = word if word in MIRRORED else None
        assert any(text.startswith("UNSURE: ") for text in texts) == (word == "UNSURE")
        for width in (80, 120):
            narrow = ["".join(text for text, _ in line) for line in detail_lines(entry, width, 7, UNICODE)]
            said = " ".join(text.strip() for text in narrow)
            assert word != "UNSURE" or ((why := why_unsure(entry.row.ratio)) and why.replace(" ×", "x") in said)
    return shown


def _command_verdicts(paths: tuple[Path, Path], margin: list[str]) -> Words:
    done = CliRunner().invoke(app, ["compare", *map(str, paths), "--format", "json", *margin])
    (against,) = json.loads(done.stdout)["against"]
    assert against["counts"] == {
        word: sum(row["verdict"] == word for row in against["rows"]) for word in MIRRORED
    }
    return {(row["base"] or row["new"])["case"]: row["verdict"] for row in against["rows"]}
