"""The sweep in the report can be run again, and none of its text is markup."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.payloads import Host
from benchtui.sessions.report.document import markdown
from benchtui.sessions.report.reproduce import recipe
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import summarize
from benchtui.sessions.sweep.toml_reader import load_sweep, parse_sweep

FIXTURES = Path(__file__).parents[2] / "fixtures"
HOSTILE = "</td><script>alert(1)</script> ```\n``` `x` \\ \" ' # [a](b) | é"


@pytest.mark.parametrize("name", ["quick", "gpt2-train"])
@pytest.mark.parametrize("value", ["4", HOSTILE])
def test_recipe_contains_the_sweep_that_ran(bench: Any, read: Any, name: str, value: str) -> None:
    sweep = structs.replace(load_sweep(name, []), env={"A": value})
    text = markdown(bench.session(bench.case(1, 10.0), sweep=sweep))
    (fence,) = [token for token in read(text).tokens if token.type == "fence" and token.info == "toml"]
    assert parse_sweep(fence.content, "the report") == sweep
    assert "<" not in fence.content and "`" not in fence.content


def test_sweep_that_cannot_be_written_is_named_with_its_reason(bench: Any, read: Any) -> None:
    sweep = load_sweep("quick", [])
    foreign = structs.replace(sweep, axes=structs.replace(sweep.axes, env=("no pair",)))
    document = read(markdown(bench.session(bench.case(1, 10.0), sweep=foreign)))
    facts = document["How to reproduce"].paragraphs
    assert facts[0] == "Sweep: can't be written: axes.env: 'no pair' isn't a list of name=value"
    assert not any(text.startswith("Command") for text in facts)
    assert not [token for token in document.tokens if token.type == "fence" and token.info == "toml"]


def test_raw_data_of_a_session_is_named(bench: Any, read: Any) -> None:
    session = bench.session(bench.case(1, 10.0))
    facts = read(markdown(session))["How to reproduce"].paragraphs
    assert f"Raw data: every step of session {session.start.id}: benchtui export SESSION --steps" in facts


def test_commit_of_benchtui_is_named(bench: Any, read: Any) -> None:
    session = bench.session(bench.case(1, 10.0))
    session.started = structs.replace(session.start, version="0.1.0", commit="0123456789ab-dirty")
    facts = read(markdown(session))["How to reproduce"].paragraphs
    assert "Versions: benchtui 0.1.0 (commit 0123456789ab-dirty), torch 2.9" in facts


def test_imported_session_has_no_recipe(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), host=Host())
    assert recipe(session) is not None
    session.started = structs.replace(session.start, source="a tool: its file")
    assert recipe(session) is None


def test_imported_session_names_its_file_and_how_to_get_its_figures(tmp_path: Path, read: Any) -> None:
    for name, kept in (("gpt2-training-results.csv", "every figure"), ("hyperfine.json", "every step")):
        session_writer.write(registry.read(FIXTURES / name), tmp_path / f"{name}.session.json")
        session = Session.load(tmp_path / f"{name}.session.json", summarize)
        assert session.start.source_file == name
        export = {"every figure": "--format csv", "every step": "--steps"}[kept]
        (text,) = read(markdown(session))["How to reproduce"].paragraphs
        assert text.endswith(
            f"can't rerun it. Raw data: {name}; {kept} without rounding: benchtui export SESSION {export}"
        )
