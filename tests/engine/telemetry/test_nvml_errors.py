import pynvml
import pytest

from benchtui.engine.telemetry import nvml_errors

CODES = {
    name.removeprefix("NVML_ERROR_"): code
    for name, code in vars(pynvml).items()
    if name.startswith("NVML_ERROR_")
}


def test_every_code_of_pynvml_has_its_own_reason_in_one_line() -> None:
    reasons = {name: nvml_errors.reason(pynvml.NVMLError(code)) for name, code in CODES.items()}
    assert reasons == {name: nvml_errors.REASONS[name] for name in CODES}
    assert len(set(reasons.values())) == len(CODES) > 25
    for text in reasons.values():
        assert text.strip() == text and 10 < len(text) < 150 and "\n" not in text and not text.endswith(".")


def test_a_code_newer_than_the_table_is_named_by_its_number() -> None:
    assert nvml_errors.reason(pynvml.NVMLError(12345)).startswith("NVML error 12345")


@pytest.mark.parametrize(
    ("name", "permanent", "loss"),
    [
        ("NOT_SUPPORTED", True, False),
        ("NO_PERMISSION", True, False),
        ("FUNCTION_NOT_FOUND", True, False),
        ("TIMEOUT", False, False),
        ("UNKNOWN", False, False),
        ("GPU_IS_LOST", False, True),
        ("RESET_REQUIRED", False, True),
        ("UNINITIALIZED", False, True),
    ],
)
def test_codes_tell_a_lost_gpu_from_a_missing_reading_from_a_passing_failure(
    name: str, permanent: bool, loss: bool
) -> None:
    error = pynvml.NVMLError(CODES[name])
    assert (nvml_errors.is_permanent(error), nvml_errors.is_loss(error)) == (permanent, loss)
