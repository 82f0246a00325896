import pytest

from benchtui.engine.devices.failure import failure_reason, result_or_reason
from benchtui.sessions.errors import BenchtuiError


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BenchtuiError("the step has no method answer()"), "the step has no method answer()"),
        (MemoryError(), "out of memory on cpu"),
        (ValueError("first\nsecond"), "ValueError: first"),
    ],
)
def test_failure_has_one_line(error: Exception, reason: str) -> None:
    def fail() -> int:
        raise error

    assert failure_reason("cpu", error) == result_or_reason("cpu", fail) == reason


def test_success_has_its_result() -> None:
    assert result_or_reason("cpu", lambda: 3) == 3
