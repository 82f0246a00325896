import pydoc
from pathlib import Path
from typing import Any

import pytest

import benchtui
from benchtui.sessions.export import dataframe
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.library.paths import CPU_DEMO, demo_path
from benchtui.sessions.state.session import Session as SessionState
from benchtui.tui.api.display import BEST_ROWS, session_html, session_text
from benchtui.tui.api.frames import case_frame

QUICK = Path(__file__).parents[2] / "fixtures" / "quick-cpu.json"
FIXTURE = Path(__file__).parents[2] / "fixtures" / "comprehensive-report.json"


def test_cases_have_the_columns_that_were_measured_or_differ(bench: Any) -> None:
    session = bench.session(bench.case(1, 2.0), bench.case(8, 9.0, marks=("disturbed",)))
    cases = case_frame(session)
    assert cases.index.name == "name"
    assert list(cases.index) == [case.name for case in session.cases]
    assert {"batch_size", "latency_p50_ms", "samples_per_s", "marks"} <= set(cases)
    assert not {"device", "precision", "sequence_length", "energy_j", "reason", "name"} & set(cases)
    assert cases["latency_p50_ms"].round(1).tolist() == [2.0, 9.0]


def test_verdicts_stay_although_they_do_not_differ() -> None:
    session = benchtui.load(FIXTURE)
    assert set(session.cases()["verdict"]) == {"REPORTED"}


def test_failed_case_is_a_row_with_its_outcome(bench: Any) -> None:
    session = bench.session(bench.case(1, 2.0), bench.case(8, outcome="oom", end={"reason": "no memory"}))
    cases = case_frame(session)
    assert cases["outcome"].tolist() == ["ok", "oom"]
    assert cases["reason"].tolist()[1] == "no memory"
    assert cases["samples_per_s"].isna().tolist() == [False, True]


def test_all_columns_are_those_of_the_schema() -> None:
    cases = benchtui.load(FIXTURE).cases(all=True)
    assert [cases.index.name, *cases.columns] == sorted(
        CaseRow.__struct_fields__, key=lambda name: (name != "name", CaseRow.__struct_fields__.index(name))
    )
    whole = dataframe.frame(SessionState.load(FIXTURE)).set_index("name")
    assert cases.equals(whole)


def test_simulated_session_says_so_everywhere() -> None:
    session = benchtui.load("demo")
    assert session.simulated
    note = "SIMULATED: computed by a roofline model"
    assert session.cases().attrs["simulated"].startswith(note)
    assert session.steps().attrs["simulated"].startswith(note)
    assert session.cases()["marks"].str.contains("SIMULATED").all()
    assert "SIMULATED" in repr(session) and "SIMULATED" in session._repr_html_()
    assert not benchtui.load("demo-cpu").simulated


def test_steps_have_the_names_and_numbers_of_their_cases() -> None:
    session = benchtui.load(QUICK)  # without disturbed rounds, whose steps don't count
    cases, steps = session.cases(all=True), session.steps()
    cases = cases[cases["outcome"] == "ok"]
    assert set(steps.index) == set(cases.index)
    assert not {"device_ms", "loss", "simulated"} & set(steps)  # nothing has one
    assert str(steps["tokens"].dtype) == "Int64"
    measured = steps[steps["phase"] == "measure"]
    assert measured.groupby("name").size().to_dict() == cases["n"].to_dict()
    means_ms = measured.groupby("name")["wall_ms"].mean()
    assert means_ms.to_dict() == pytest.approx(cases["latency_mean_ms"].to_dict())


def test_session_without_steps_has_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    first = demo_path(CPU_DEMO).read_bytes().splitlines()[:2]
    path.write_bytes(b"\n".join(first) + b"\n")
    session = benchtui.load(path)
    assert session.steps().empty
    assert len(session.cases()) == 8
    assert repr(session) == "<benchtui.Session s: 0 of 8 cases measured, running or incomplete>"
    assert "<table>" not in session._repr_html_()


def test_html_shows_the_fastest_cases_escaped(bench: Any) -> None:
    cases = (bench.case(size, 1.0 + size, marks=("<b>mark</b>",)) for size in range(1, BEST_ROWS + 3))
    session = bench.session(*cases)
    html = session_html("<i>name</i>", session)
    assert "<i>" not in html and "<b>mark" not in html
    assert html.count("<tr") == BEST_ROWS + 1
    assert "The 10 fastest are shown." in html
    assert "bs=12 " in html and "bs=1 " not in html


def test_text_is_one_line_without_control_characters(bench: Any) -> None:
    text = session_text("a\x1b[31m\nb", bench.session(bench.case(1, 2.0)))
    assert text.isprintable()
    assert text.endswith(": 1 of 1 case measured, completed")


def test_missing_session_is_an_error_of_one_line() -> None:
    with pytest.raises(benchtui.BenchtuiError, match=r"^no-such-thing: no such session") as raised:
        benchtui.load("no-such-thing")
    assert "\n" not in str(raised.value)


def described(name: str) -> str:
    """Return what help() prints."""
    return pydoc.render_doc(name, renderer=pydoc.plaintext)  # type: ignore[attr-defined]


def test_help_is_short_and_names_everything_public() -> None:
    text = described("benchtui")
    assert len(text.splitlines()) < 140
    for entry in ("run(", "load(session", "compare(base", "class Session", "class Comparison", "steps(self)"):
        assert entry in text
    public = {name for name in vars(benchtui) if name[0].isupper()}
    assert public == {"BenchtuiError", "Case", "Comparison", "Session"}
    assert all(name in str(benchtui.__doc__) for name in public)
    assert set(benchtui.__all__) | public <= set(dir(benchtui))
    assert "0.1.0" in text


@pytest.mark.parametrize("name", ["Session", "Comparison", "run", "load", "compare"])
def test_help_on_a_name_has_only_its_own_words(name: str) -> None:
    text = described(f"benchtui.{name}")
    assert len(text.splitlines()) < 60
    for noise in ("Return repr(self)", "Initialize self", "__weakref__", "inherited from", "benchtui.sessions"):
        assert noise not in text
