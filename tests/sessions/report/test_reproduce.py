"""The sweep in the report can be run again, and none of its text is markup."""

from typing import Any

import pytest
from msgspec import structs

from benchtui.sessions.payloads import Host
from benchtui.sessions.report.document import markdown
from benchtui.sessions.report.reproduce import recipe
from benchtui.sessions.sweep.toml_reader import load_sweep, parse_sweep

HOSTILE = "</td><script>alert(1)</script> ```\n``` `x` \\ \" ' # [a](b) | é"


@pytest.mark.parametrize("name", ["quick", "gpt2-train"])
@pytest.mark.parametrize("value", ["4", HOSTILE])
def test_recipe_contains_the_sweep_that_ran(bench: Any, read: Any, name: str, value: str) -> None:
    sweep = structs.replace(load_sweep(name, []), env={"A": value})
    text = markdown(bench.session(bench.case(1, 10.0), sweep=sweep))
    (fence,) = [token for token in read(text).tokens if token.type == "fence"]
    assert fence.info == "toml"
    assert parse_sweep(fence.content, "the report") == sweep
    assert "<" not in fence.content and "`" not in fence.content


def test_imported_session_has_no_recipe(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), host=Host())
    assert recipe(session) is not None
    session.started = structs.replace(session.start, source="a tool: its file")
    assert recipe(session) is None
