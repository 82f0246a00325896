"""``benchtui export`` in all formats, invoked through the command line."""

import gzip
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.cli import app

FIXTURE = Path(__file__).parents[2] / "fixtures" / "comprehensive-report.json"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "s.json"
    path.write_bytes(FIXTURE.read_bytes())
    return path


def export(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture(scope="module")
def with_figures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """A report written to a file with its figures: what the command said, and the folder."""
    folder = tmp_path_factory.mktemp("figures")
    return export(FIXTURE, "--figures", folder / "figures", "-o", folder / "report.md"), folder


def test_report_written_to_a_file_links_its_plots(with_figures: tuple[Result, Path]) -> None:
    done, folder = with_figures
    assert done.stdout == ""
    assert done.stderr.startswith("figures skipped: ")
    assert done.stderr.count("\n") == 1
    assert "](figures/throughput.svg)" in (folder / "report.md").read_text()
    for name in ("throughput.svg", "throughput.png"):
        assert (folder / "figures" / name).stat().st_size > 1000


def test_report_names_the_figures_that_are_left_out(with_figures: tuple[Result, Path]) -> None:
    done, folder = with_figures
    last = " ".join((folder / "report.md").read_text().split("\n\n")[-1].split())
    assert last.replace("\\", "") == f"Figures left out: {done.stderr.strip().partition(': ')[2]}."


def test_first_screen_has_one_figure(with_figures: tuple[Result, Path]) -> None:
    _, folder = with_figures
    decision = (folder / "report.md").read_text().partition("## Decision\n")[2].partition("\n## ")[0]
    assert decision.count("](figures/") == 1
    assert "](figures/speedup.svg)" in decision


def test_comparison_is_exported_with_its_figures(session: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_bytes(session.read_bytes())
    export(session, other, "--figures", tmp_path / "figures", "-o", tmp_path / "comparison.md")
    text = (tmp_path / "comparison.md").read_text()
    assert text.startswith("# Comparison: s and other\n")
    for name, section in (
        ("throughput", "Interpretation"),
        ("latency", "Interpretation"),
        ("ratios", "Decision"),
    ):
        assert f"](figures/{name}.svg)" in text.partition(f"## {section}\n")[2].partition("\n## ")[0]
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 1000
    page = export(session, other, "--format", "html", "--baseline", other).stdout
    assert page.count("<figure") == 3
    assert "<title>Comparison: other and s</title>" in page


def test_report_on_standard_output_links_no_plots(session: Path, tmp_path: Path) -> None:
    done = export(session, "--figures", tmp_path / "figures")
    assert done.stdout == export(session).stdout
    assert (tmp_path / "figures" / "throughput.svg").exists()


def test_trace_is_written_to_standard_output_or_a_compressed_file(session: Path, tmp_path: Path) -> None:
    done = export(session, "--format", "trace")
    events = json.loads(done.stdout)["traceEvents"]
    assert "case" in {event.get("cat") for event in events}
    export(session, "--format", "trace", "-o", tmp_path / "trace.json.gz")
    written = (tmp_path / "trace.json.gz").read_bytes()
    assert gzip.decompress(written) == done.stdout_bytes
    export(session, "--format", "trace", "-o", tmp_path / "again.gz")
    assert (tmp_path / "again.gz").read_bytes() == written, "no time stamp and no name"


@pytest.mark.parametrize(
    ("name", "start"), [("r.html", b"<!"), ("r.csv", b"case,"), ("r.JSON", b"{"), ("r.md", b"#"), ("r", b"#")]
)
def test_ending_of_the_file_names_the_format(session: Path, tmp_path: Path, name: str, start: bytes) -> None:
    export(session, "-o", tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(BenchtuiError, match=r"no format ends in .pdf; --format names one: md, html, csv"):
        export(session, "-o", tmp_path / "report.pdf")


@pytest.mark.parametrize("form", ["bmf", "gab", "gab-throughput"])
def test_results_for_trackers_of_benchmarks(session: Path, form: str) -> None:
    assert len(json.loads(export(session, "--format", form).stdout)) == 10


def test_parquet_without_pyarrow_reports_the_missing_package(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for more in ((), ("--steps",)):
        with pytest.raises(BenchtuiError, match="--format parquet requires pyarrow, which isn't installed"):
            export(session, "--format", "parquet", "-o", tmp_path / "r.parquet", *more)


def test_export_never_overwrites_the_session(session: Path, tmp_path: Path) -> None:
    before = session.read_bytes()
    link = tmp_path / "link.json"
    link.symlink_to(session)
    for target in (session, link):
        with pytest.raises(BenchtuiError, match="is a session; sessions are never overwritten"):
            export(session, "--format", "json", "-o", target)
    assert session.read_bytes() == before


def test_failed_export_keeps_the_previous_file(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("hello\n")
    (tmp_path / "out.csv").write_text("before")
    for more in ((), ("--steps",)):
        with pytest.raises(BenchtuiError):
            export(tmp_path / "broken.json", "--format", "csv", "-o", tmp_path / "out.csv", *more)
    assert (tmp_path / "out.csv").read_text() == "before"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--steps",), "--steps can't be exported with --format md; use csv, json, parquet"),
        (("--steps", "--format", "html"), "--steps can't be exported with --format html"),
        (("--steps", "--format", "csv", "--figures", "x"), "--figures can't be combined with --steps"),
        (("--format", "parquet"), "--format parquet is binary: name an output file with -o"),
        (("--format", "csv", "--price", "2.5"), "--price applies only to the report of a single session"),
        (("other.json", "--format", "csv"), "2 sessions can't be exported with --format csv; use md or html"),
        (("--full", "--format", "csv"), "--full applies only to the report of a single session"),
        (("other.json", "--full"), "--full applies only to the report of a single session"),
        (("other.json", "--baseline", "precision=fp32"), "--baseline: with several sessions, name one of them"),
        (("--format", "trace", "--figures", "x"), "--figures can't be combined with --format trace"),
        (("--format", "trace", "--steps"), "--steps can't be exported with --format trace"),
        (("-o", "nowhere/report.md"), "nowhere/report.md: can't be written: No such file"),
        (("--format", "parquet", "-o", "nowhere/r.parquet"), "nowhere/r.parquet: can't be written"),
        (("--format", "csv", "--figures", "s.json/x"), "s.json/x: can't create the folder for the figures"),
    ],
)
def test_conflicting_options_are_rejected(
    arguments: tuple[str, ...], said: str, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "nowhere/r.parquet" in arguments:
        pytest.importorskip("pyarrow.parquet", exc_type=ImportError)
    monkeypatch.chdir(session.parent)
    command = ["export", str(session), *arguments]
    done = CliRunner().invoke(app, command)
    told = str(done.exception) if isinstance(done.exception, BenchtuiError) else done.output
    assert said in told
    assert "\n" not in str(done.exception)


def test_price_that_is_no_number_is_refused() -> None:
    with pytest.raises(BenchtuiError, match=r"^--price: nan is not a price per hour"):
        export(FIXTURE, "--price", "nan")


def test_sequence_length_that_was_not_measured_is_refused() -> None:
    command = ["optimal", str(FIXTURE), "--sequence-length", "999"]
    with pytest.raises(BenchtuiError, match="no measured case has 999 tokens; there are 128"):
        CliRunner().invoke(app, command, catch_exceptions=False)
