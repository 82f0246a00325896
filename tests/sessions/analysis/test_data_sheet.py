import pytest

from benchtui.sessions.analysis.roofline import data_sheet


@pytest.mark.parametrize(
    ("name", "precision", "flops_per_s"),
    [("NVIDIA H200", "bf16", 989.4e12), ("NVIDIA A100-SXM4-80GB", "tf32", 156e12), ("Tesla T4", "bf16", None)],
)
def test_known_gpu_has_the_dense_rates_of_its_data_sheet(
    name: str, precision: str, flops_per_s: float | None
) -> None:
    sheet = data_sheet(name)
    assert sheet is not None and sheet.flops_per_s(precision) == flops_per_s


@pytest.mark.parametrize("name", [None, "", "NVIDIA H100", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"])
def test_other_gpus_have_no_data_sheet(name: str | None) -> None:
    assert data_sheet(name) is None
