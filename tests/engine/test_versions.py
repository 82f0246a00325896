from benchtui.engine.versions import untested
from benchtui.sessions.events import Runtime


def runtime(torch: str = "2.4.1+cu121", transformers: str = "4.45.0") -> Runtime:
    return Runtime(t=0, torch=torch, transformers=transformers)


def test_versions_of_a_known_major_need_no_word() -> None:
    assert untested(runtime()) == []
    assert untested(runtime("2.99.0", "5.0.0.dev0")) == []


def test_another_major_is_named_with_those_that_are_known() -> None:
    words = untested(runtime(transformers="6.1.0"))
    assert words == ["transformers 6.1.0 isn't tested with; known: 4.57, 5.23"]
    assert untested(runtime(torch="nightly")) == ["torch nightly isn't tested with; known: 2.13"]
