"""Everything that reads a file of a stranger's, and what must hold of all that comes out of it."""

import csv
import io
import random
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import mutations
from markdown_it import MarkdownIt

from benchtui.sessions.advice.constraints import Constraints
from benchtui.sessions.advice.deciding_sweep import single_case_sweep
from benchtui.sessions.advice.objectives import NEEDS, Objective
from benchtui.sessions.advice.optimal import decide
from benchtui.sessions.analysis.roofline import limit
from benchtui.sessions.compare.align import ComparedSession, compare_sessions
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.history import HistoryEstimator
from benchtui.sessions.export import case_export, dataframe, step_export
from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.journal import reader
from benchtui.sessions.library import operations, paths, summaries
from benchtui.sessions.plots import style
from benchtui.sessions.plots.render import PLOTS, _drawn
from benchtui.sessions.plots.spec import Plan, plot_data
from benchtui.sessions.replay.timeline import ReplayCursor, Timeline
from benchtui.sessions.report import compare
from benchtui.sessions.report.compare_json import as_json as comparison_as_json
from benchtui.sessions.report.document import markdown, report
from benchtui.sessions.report.html import report_page
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stored_models.stored_weights import stored_parameters
from benchtui.sessions.sweep import MOST_CASES, cases, toml_writer
from benchtui.sessions.sweep.toml_reader import load_sweep, parse_sweep, validate_config
from benchtui.themes import symbols, user_themes
from benchtui.tui.case.summary import case_markdown, detail_lines, error_lines, machine_lines
from benchtui.tui.cli.text import optimal, progress
from benchtui.tui.cli.text.compare import comparison_text
from benchtui.tui.cli.text.plan import plan_lines
from benchtui.tui.editor.draft import Draft
from benchtui.tui.live.feed import Feed
from benchtui.tui.model.session_view import View
from benchtui.tui.monitor.keys import KEYS
from benchtui.tui.panels.gauges import gauge_lines
from benchtui.tui.shell import preferences, settings

Read = Callable[[Path, random.Random], None]
SHOWN = symbols.UNICODE
MARKDOWN = MarkdownIt("commonmark").enable("table")


class HarmError(Exception):
    """Something got through that must not."""


def _document(text: str) -> None:
    """Markdown or HTML: no tag of the file's, and nothing that a terminal would obey."""
    if mutations.TAG in text or "<script>alert" in text:
        raise HarmError("a tag of the file stands in the document")
    if odd := [letter for letter in text if not letter.isprintable() and letter != "\n"]:
        raise HarmError(f"{odd[0]!r} stands in the document")


def _structure(text: str) -> None:
    """Nothing in the rendered markdown is a link, a picture or a tag; a report has none of its own."""
    blocks = MARKDOWN.parse(text)
    found = {token.type for block in blocks for token in (block, *(block.children or ()))}
    if obeyed := found & {"link_open", "image", "html_block", "html_inline"}:
        raise HarmError(f"{obeyed} of the file in the document")


def _tables(text: str) -> None:
    """Every row of a table of markdown has as many cells as its head."""
    width = 0
    for line in text.splitlines():
        cells = line.replace("\\\\", "").replace("\\|", "").count("|") if line.startswith("|") else 0
        if width and cells and cells != width:
            raise HarmError(f"a row of {cells} cells in a table of {width}: {line[:200]}")
        width = cells


def _cells(text: str) -> None:
    rows = list(csv.reader(io.StringIO(text)))
    if len({len(row) for row in rows}) > 1:
        raise HarmError("rows of unequal length")
    begun = {cell[0] for row in rows for cell in row if cell and not _is_number(cell)}
    if begun & set("=+@-\t\r"):
        raise HarmError("a cell that a spreadsheet computes")
    _document(text.replace("\r\n", "\n").replace(mutations.TAG, "").replace("<script>alert", ""))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _shown(snapshot: object) -> None:
    """No text of a snapshot for the screen has anything that a terminal would obey."""
    for text in _texts(snapshot):
        if not text.isprintable():
            raise HarmError(f"{text[:80]!r} is to be shown")


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _texts(getattr(value, name))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _texts(each)


def _report(path: Path, dice: random.Random) -> None:
    session = Session.load(path, summarize=None if dice.random() < 0.5 else metrics)
    price = dice.choice((None, 2.5))
    full = dice.random() < 0.5
    text = markdown(session, price, full=full)
    _document(text)
    _tables(text)
    if dice.random() < 0.2:
        _structure(text)
    if dice.random() < 0.3:
        _document(
            "".join(report_page(report(session, price, full=full), []))
            .partition("<body")[2]
            .rpartition("<script")[0]
        )


def _results(path: Path, dice: random.Random) -> None:
    session = Session.load(path, summarize=None if dice.random() < 0.5 else metrics)
    _cells(case_export.as_csv(session))
    case_export.as_json(session).encode()


def load_libraries() -> None:
    """Write a report and draw a plot, which import jinja2, matplotlib and its fonts."""
    demo = Session.load(paths.demo_path(), metrics)
    markdown(demo)
    known = plot_data(demo)
    with style.drawing():
        _drawn(next(plan for make in PLOTS if isinstance(plan := make(known), Plan)), png=False, captioned=True)


def _figures(path: Path, dice: random.Random) -> None:
    """What all figures would show; one in twenty is drawn too, which takes longer than all else."""
    known = plot_data(Session.load(path, metrics))
    plans = [plan for make in PLOTS if isinstance(plan := make(known), Plan)]
    if plans and dice.random() < 0.05:
        with style.drawing():
            drawn = _drawn(dice.choice(plans), png=False, captioned=True)
        if mutations.TAG.encode() in drawn.svg or b"<script" in drawn.svg:
            raise HarmError("a tag of the file stands in the picture")


def _steps(path: Path, _dice: random.Random) -> None:
    recorded = Session.load(path)
    rows, objects = io.BytesIO(), io.BytesIO()
    step_export.write_csv(recorded, rows)
    step_export.write_json(recorded, objects)
    _cells(rows.getvalue().decode())


def _comparison(path: Path, dice: random.Random) -> None:
    session = Session.load(path)
    other = ComparedSession.of("other", Session.load(paths.demo_path(), metrics))
    sides = [ComparedSession.of("a|b", session), dice.choice((other, ComparedSession.of("itself", session)))]
    dice.shuffle(sides)
    found = compare_sessions(sides)
    comparison_text(found).encode("utf-8", "replace")
    comparison_as_json(found).encode()
    text = compare.markdown(found)
    _document(text)
    _tables(text)


def _optimal(path: Path, dice: random.Random) -> None:
    session = Session.load(path)
    tight = Constraints(vram_mb=1.0, p99_ms=1.0, latency_ms=1.0, power_w=1.0)
    constraints = dice.choice((Constraints(), tight))
    for need in NEEDS:
        decision = decide(session, Objective(need, constraints, dice.choice((None, 100))))
        list(optimal.lines(session, decision))
        optimal.json_text(session, [decision])
        if decision.best:
            text = toml_writer.toml_of(single_case_sweep(session.start.sweep, decision.best.config))
            parse_sweep(text, "the best")


def _replay(path: Path, dice: random.Random, seeks: int = 4) -> None:
    timeline = Timeline(path)
    try:
        while not timeline.complete:
            timeline.read()
        telling = ReplayCursor(timeline)
        for _ in range(seeks):
            moment = timeline.end_s * dice.random()
            telling.seek(moment)
            while not telling.move(moment):
                pass
    finally:
        timeline.close()


def _lines(path: Path, _dice: random.Random) -> None:
    session = Session()
    for line in progress.lines(path, None, session, 0.0, None):
        line.encode("utf-8", "replace")
    progress.summary_line(session, path)


def _listing(path: Path, _dice: random.Random) -> None:
    summaries.summary(path)
    paths.entry_of(path)


def _frame(path: Path, _dice: random.Random) -> None:
    dataframe.frame(Session.load(path))


def _precedents(path: Path, _dice: random.Random) -> None:
    session, learned = Session.load(path), HistoryEstimator()
    learned.learn(session)
    for case in session.cases:
        learned.predict(validate_config(case.config), session.start.sweep)


def _whole(path: Path, _dice: random.Random) -> None:
    reader.read(path)
    Session.load(path)


def _screen(path: Path, dice: random.Random) -> None:
    """The Monitor's snapshots, and the sections of a case."""
    assert KEYS  # the texts name keys
    feed = Feed(path, None, lambda: 0.0)
    try:
        while not feed.caught_up and feed.problem is None:
            feed.poll()
        if feed.session.started is None:
            return
        view = View(feed, SHOWN, "name")
        view.update()
        view.order.chosen = dice.choice([None, *range(len(feed.session.cases))][:5])
        rows = view.rows()
        shown: list[object] = [
            view.heading(()),
            view.current(),
            view.band(),
            view.parts(),
            gauge_lines(view.machines(), dice.choice((40, 120)), dice.choice((3, 10, 40)), SHOWN),
        ]
        for row in (rows.row(place) for place in range(min(rows.count, 10))):
            shown += [row.case, row.instead, [*row.cells.values()]]
        _shown(shown)
        if view.order.chosen is not None:
            _section(feed.session, view.order.chosen)
    finally:
        feed.close()


def _section(session: Session, chosen: int) -> None:
    case = session.cases[chosen]
    known, reached = metrics(case), limit(case, session.peaks)
    _shown(detail_lines(case, known, 80, SHOWN) + machine_lines(case, known, reached, 80, SHOWN))
    _shown(error_lines(case, 80, SHOWN))
    _document(case_markdown(case, known, reached, SHOWN))


def _draft(path: Path, _dice: random.Random) -> None:
    """The editor, on a sweep or on the sweep of a session."""
    draft = Draft.of(path)
    draft.text()


def _sweep(path: Path, dice: random.Random) -> None:
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    sweep = parse_sweep(text, "sweep.toml")
    if sweep.planned < MOST_CASES / 100:
        cases(sweep)
        again = parse_sweep(toml_writer.toml_of(sweep), "written")
        if again != sweep:
            raise HarmError("written back it is another sweep")
        if dice.random() < 0.2:
            for line in plan_lines(sweep, HistoryEstimator()):
                line.encode("utf-8", "replace")


def _settings(path: Path, _dice: random.Random) -> None:
    settings.read(path)


def _theme(path: Path, _dice: random.Random) -> None:
    folder = path.parent / "themes"
    folder.mkdir(exist_ok=True)
    (folder / "mine.toml").write_bytes(path.read_bytes())
    user_themes.load_all(folder)


def _import(path: Path, _dice: random.Random) -> None:
    target = path.with_suffix(".session")
    target.unlink(missing_ok=True)
    session_writer.write(registry.read(path), target)
    try:
        session = Session.load(target)
    except BenchtuiError as error:
        raise HarmError("the session that was written can't be read") from error
    if session.torn or session.cut_off:
        raise HarmError("the session that was written is cut off")
    text = markdown(session)
    _document(text)
    _tables(text)


def _imported(path: Path, _dice: random.Random) -> None:
    """An import without the report that ``_import`` writes as well."""
    target = path.with_suffix(".session")
    target.unlink(missing_ok=True)
    session_writer.write(registry.read(path), target)


def _loaded(path: Path, _dice: random.Random) -> None:
    Session.load(path)


def _yaml(path: Path, _dice: random.Random) -> None:
    load_sweep(str(path.rename(path.with_suffix(".yaml"))))


def _override(path: Path, _dice: random.Random) -> None:
    """The file's text as the value of ``--set``."""
    parse_sweep('model = "m"', "sweep.toml", [path.read_text("utf-8")])


def _note(path: Path, _dice: random.Random) -> None:
    path.rename(path.with_suffix(".note"))
    operations.note_of(path)


def _weights(path: Path, _dice: random.Random) -> None:
    folder = path.with_suffix(".folder")
    folder.mkdir(exist_ok=True)
    path.rename(folder / "model.safetensors")
    stored_parameters(folder)


def _cache(path: Path, _dice: random.Random) -> None:
    """Summaries of the library, and what the app remembers of the user's choices."""
    summaries._read(path)
    preferences._read(path)


def _seek(path: Path, dice: random.Random) -> None:
    _replay(path, dice, 1)


OF_SESSIONS: tuple[Read, ...] = (
    *(_report, _results, _steps, _comparison, _optimal, _replay, _lines, _listing, _frame, _whole),
    *(_screen, _draft, _precedents, _figures),
)
OF_KINDS: dict[str, tuple[Read, ...]] = {
    "session": OF_SESSIONS,
    "sweep": (_sweep, _draft),
    "settings": (_settings,),
    "theme": (_theme,),
    "import": (_import,),
}

READERS: dict[str, tuple[Read, ...]] = {
    "session": (_loaded, _whole, _listing, _seek, _screen, _lines, _draft),
    "sweep": (_sweep, _draft),
    "yaml": (_yaml,),
    "set": (_override,),
    "settings": (_settings,),
    "theme": (_theme,),
    "import": (_imported,),
    "note": (_note,),
    "weights": (_weights,),
    "cache": (_cache,),
}
"""Readers for which a megabyte may cost a second and 200 MB. Reports of its cases may cost more."""


def refused_in_one_line(error: BenchtuiError) -> bool:
    """Whether a message is one that a terminal can show in a line or two of its own."""
    return "\n" not in str(error).strip() and len(str(error)) < 3_000
