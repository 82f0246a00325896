"""The sweep in the report can be run again, and none of its text is markup."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from journals import import_results
from msgspec import structs

from benchtui.sessions.payloads import Host, Model
from benchtui.sessions.report.document import markdown, report
from benchtui.sessions.report.html import report_page
from benchtui.sessions.report.reproduce import compact, ids_in_report, recipe
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.toml_reader import load_sweep, parse_sweep, preset_names
from benchtui.sessions.sweep.toml_writer import texts_of, toml_of
from benchtui.sessions.text.markdown import LONGEST_LINE

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
    named = f"Raw data: every step of session {session.start.id}: benchtui export SESSION --steps; code "
    assert any(fact.startswith(named) for fact in facts)


@pytest.mark.parametrize(
    ("task", "weights", "dataset", "seeds"),
    [
        ("embed", "random", "sample", "random weights: seed 0; texts are read in order"),
        ("embed", "pretrained", "texts.txt", "nothing is drawn at random; texts are read in order"),
        ("embed", "pretrained", "synthetic", "synthetic inputs: seed 0"),
        ("image", "random", "synthetic", "random weights, synthetic inputs: seed 0"),
        ("lm-train", "pretrained", "sample", "dropout: seed 0; texts are read in order"),
        ("my_step.py:make", "random", "sample", None),
    ],
)
def test_only_what_is_drawn_at_random_has_a_seed(
    bench: Any, read: Any, task: str, weights: Any, dataset: str, seeds: str | None
) -> None:
    swept = Sweep(name="s", model="m", task=task, weights=weights, dataset=dataset)
    facts = read(markdown(bench.session(bench.case(1, 10.0), sweep=swept)))["How to reproduce"].paragraphs
    named = [fact.removeprefix("Seeds: ") for fact in facts if fact.startswith("Seeds: ")]
    assert named == ([seeds] if seeds else [])


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
        session = import_results(FIXTURES / name, tmp_path / f"{name}.session.json", metrics)
        assert session.start.source_file == name
        export = {"every figure": "--format csv", "every step": "--steps"}[kept]
        (text,) = read(markdown(session))["How to reproduce"].paragraphs
        assert text.endswith(
            f"can't rerun it. Raw data: {name}; {kept} without rounding: benchtui export SESSION {export}"
        )


def test_sweep_of_a_report_states_what_its_task_uses(bench: Any, read: Any) -> None:
    text = toml_of_report(bench.session(bench.case(1, 10.0), sweep=load_sweep("quick", [])), read, full=True)
    stated = tomllib.loads(text)
    assert {"device", "precision", "compile", "threads", "padding"} <= set(stated["axes"])
    assert {"warmup", "iterations", "rounds", "timeout", "caches", "peaks"} <= set(stated["measure"])
    assert (stated["weights"], stated["dataset"]) == ("random", "sample")
    assert not {"train", "generate"} & set(stated)


@pytest.mark.parametrize("name", [*preset_names(), "own_step.py:make_step"])
def test_short_sweep_of_a_report_names_every_default(bench: Any, read: Any, name: str) -> None:
    sweep = parse_sweep(f'task = "{name}"\n', "f") if ":" in name else load_sweep(name, [])
    session = bench.session(bench.case(1, 10.0), sweep=sweep)
    text = toml_of_report(session, read)
    comment = " ".join(line.removeprefix("# ") for line in text.splitlines() if line[0] == "#")
    whole = texts_of(tomllib.loads(toml_of_report(session, read, full=True)))
    stated = texts_of(tomllib.loads(text))
    assert stated.items() <= whole.items()
    assert [entry for entry in whole if entry not in stated and f"{entry}={whole[entry]}" not in comment] == []
    defaults = re.findall(r"([\w.]+=[^=]+?)(?:, (?=[\w.]+=)|$)", comment.partition("defaults: ")[2])
    again = parse_sweep(text, "f", default_name=sweep.name, overrides=defaults)
    assert again == sweep


@pytest.mark.parametrize("name", preset_names())
def test_short_sweep_of_a_report_has_the_same_meaning_in_fewer_lines(name: str) -> None:
    sweep = load_sweep(name, [])
    text = compact(toml_of(sweep))
    assert parse_sweep(text, "f", default_name=sweep.name) == sweep
    assert len(text.splitlines()) < len(toml_of(sweep).splitlines())
    assert max(map(len, text.splitlines())) <= max(LONGEST_LINE, *map(len, toml_of(sweep).splitlines()))


@pytest.mark.parametrize("name", [*preset_names(), "own_step.py:make_step"])
def test_whole_sweep_has_the_same_meaning(name: str) -> None:
    own = f'task = "{name}"\n[axes]\nthreads = [1, 2]\n'
    sweep = parse_sweep(own, "f") if ":" in name else load_sweep(name, [])
    assert parse_sweep(toml_of(sweep, whole=True), "f", default_name=sweep.name) == sweep


def test_sweep_of_a_report_names_its_session_revision_and_digests(bench: Any, read: Any) -> None:
    model = Model(name="org/mine", source="hub", revision="0a1b2c")
    case = bench.case(1, 10.0, model=model, prepared={"files": {"weights": "0123456789abcdef"}})
    text = toml_of_report(bench.session(case, sweep=Sweep(name="s", model="org/mine")), read)
    assert text.splitlines()[:3] == [
        "# session abc",
        "# revision of org/mine: 0a1b2c",
        "# digests of org/mine: weights 01234567",
    ]
    assert tomllib.loads(text)["model"] == "org/mine"


def test_sweep_of_a_report_has_absolute_paths(bench: Any, read: Any) -> None:
    model = Model(name="./mine", source="folder")
    case = bench.case(1, 10.0, model=model, prepared={"files": {"dataset": "0123456789abcdef"}})
    session = bench.session(case, sweep=Sweep(name="s", model="./mine", dataset="texts.txt"))
    session.started = structs.replace(session.start, folder="/work")
    stated = tomllib.loads(toml_of_report(session, read))
    assert (stated["model"], stated["dataset"]) == ("/work/mine", "/work/texts.txt")
    own = structs.replace(session.start.sweep, task="step.py:make", model="step.py:make", dataset="sample")
    session.started = structs.replace(session.start, sweep=own)
    stated = tomllib.loads(toml_of_report(session, read))
    assert (stated["task"], "model" in stated) == ("/work/step.py:make", False)


def test_session_of_a_report_survives_pasting(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0))
    for text in (markdown(session), "".join(report_page(report(session)))):
        assert ids_in_report(text) == ids_in_report("> " + text.replace("\n", "\r\n> ")) == ["abc"]


def test_report_of_two_sessions_names_neither(bench: Any) -> None:
    assert ids_in_report("# session a1\n# session b2\n") == ["a1", "b2"]
    assert ids_in_report("no report") == []


def toml_of_report(session: Session, read: Any, *, full: bool = False) -> str:
    """Return the sweep in the report of a session."""
    fences = [
        token
        for token in read(markdown(session, full=full)).tokens
        if token.type == "fence" and token.info == "toml"
    ]
    return str(fences[0].content)
