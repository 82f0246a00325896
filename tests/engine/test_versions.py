from benchtui.engine.versions import untested
from benchtui.sessions.events import Runtime


def runtime(torch: str = "2.4.1+cu121", transformers: str = "4.45.0") -> Runtime:
    return Runtime(t=0, torch=torch, transformers=transformers)


def test_tested_major_versions_need_no_warning() -> None:
    assert untested(runtime()) == []
    assert untested(runtime("2.99.0", "5.0.0.dev0")) == []


def test_untested_major_version_is_reported() -> None:
    words = untested(runtime(transformers="6.1.0"))
    assert words == ["transformers 6.1.0 is untested; tested: 4.57, 5.23"]
    assert untested(runtime(torch="nightly")) == ["torch nightly is untested; tested: 2.13"]
