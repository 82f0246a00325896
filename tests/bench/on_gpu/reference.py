"""The tables of five published reports (docs/reference-reports.md), from sessions recorded here."""

from agreement import empty_columns, missing_sections
from findings import Findings
from sweeps import GPU, kept, record, require_all_ok, sweep

from benchtui.sessions.compare.align import compare_sessions, load_sessions
from benchtui.sessions.report import compare as comparison
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session

COMMON = ("Decision", "Results", "How to reproduce", "Limitations")
SCALING = ("Model information", "System information", "Performance metrics", "Scaling with batch size")
COMPREHENSIVE = (*COMMON, *SCALING, "What each option brings", "Pairs of options", "Energy", "Memory")
BATCHES = (*COMMON, *SCALING, "Step breakdown", "Energy", "Method")
TRAINING = (*COMMON, "Leaderboard", "Pairs of options", "Every case", "Memory")
ARTICLE = (*COMMON, "What each option brings", "Step breakdown", "Performance metrics", "Method")
COMPARED = ("Decision", "Cases", "Systems", "Interpretation", "How to reproduce", "Limitations")
"""Sections that contain what each document has."""
SHORT = ("iterations=3", "warmup=1", "retries=0", "weights=random")


def reports(findings: Findings) -> None:
    """Record CPU and GPU apart, batch sizes 1 to 8, and both devices at batch sizes 1 and 32; export each."""
    options = SHORT if findings.brief else ("weights=random", "iterations=20")
    length = f"sequence_length={16 if findings.brief else 128}"
    sizes = "batch_size=1,2" if findings.brief else "batch_size=1,2,4,8"
    named = {"cpu": "device=cpu", "gpu": GPU}
    for name, device in named.items():
        wanted = sweep("distilbert-sst2", *options, device, "precision=fp32", sizes, length)
        record(findings, wanted, 60, f"reference-{name}.json")
    require_sections(findings, "reference-gpu", BATCHES)
    _compared(findings, *(f"reference-{name}" for name in named))
    both = ("device=cpu,cuda:0", f"batch_size=1,{2 if findings.brief else 32}", "precision=fp32", length)
    record(findings, sweep("distilbert-sst2", *options, *both), 90, "reference-imdb.json")
    findings.not_here("IMDB reviews", "no network; the bundled sample of reviews is measured instead")
    require_sections(findings, "reference-imdb", (*ARTICLE, "Pairs of options"))


def require_sections(findings: Findings, name: str, wanted: tuple[str, ...]) -> None:
    """Export a session's full report next to it, and note which sections it lacks."""
    path = kept(findings, f"{name}.json")
    session = Session.load(path)
    require_all_ok(
        findings, [case for case in session.cases if not case.finished or case.finished.outcome != "oom"]
    )
    _note(findings, name, markdown(session, full=True) + _folded(session), wanted)


def _folded(session: Session) -> str:
    """Return the default report, which has sections that the full one replaces."""
    return "\n" + markdown(session)


def _compared(findings: Findings, *names: str) -> None:
    sides = load_sessions([kept(findings, f"{name}.json") for name in names])
    _note(findings, "-".join(names), comparison.markdown(compare_sessions(sides)), COMPARED)


def _note(findings: Findings, name: str, text: str, wanted: tuple[str, ...]) -> None:
    kept(findings, f"{name}.md").write_text(text, "utf-8")
    missing = missing_sections(text, wanted)
    findings.figure(f"{name}: columns without a value", empty_columns(text))
    said = f"without {', '.join(missing)}" if missing else f"all {len(wanted)} sections"
    findings.expect_at_length(not missing, f"{name}: {said}")
