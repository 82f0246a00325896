import pynvml
import pytest

from benchtui.engine.telemetry.gpu import nvml_errors

CODES = {
    name.removeprefix("NVML_ERROR_"): code
    for name, code in vars(pynvml).items()
    if name.startswith("NVML_ERROR_")
}


def test_every_nvml_code_has_a_one_line_reason() -> None:
    reasons = {name: nvml_errors.reason(pynvml.NVMLError(code)) for name, code in CODES.items()}
    assert reasons == {name: nvml_errors.REASONS[name] for name in CODES}
    assert len(set(reasons.values())) == len(CODES) > 25
    for text in reasons.values():
        assert text.strip() == text and 10 < len(text) < 150 and "\n" not in text and not text.endswith(".")


def test_unknown_nvml_code_is_shown_as_a_number() -> None:
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
def test_nvml_codes_distinguish_loss_permanent_and_temporary_failure(
    name: str, permanent: bool, loss: bool
) -> None:
    error = pynvml.NVMLError(CODES[name])
    assert (nvml_errors.is_permanent(error), nvml_errors.is_loss(error)) == (permanent, loss)
