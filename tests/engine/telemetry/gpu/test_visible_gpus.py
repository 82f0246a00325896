import pytest

from benchtui.engine.telemetry.gpu.cuda_presence import visible_gpus
from benchtui.sessions.payloads import Gpu

GPUS = tuple(Gpu(index=index, name="H200", uuid=f"GPU-{letter}0") for index, letter in enumerate("abc"))


@pytest.mark.parametrize(
    ("setting", "count"),
    [
        (None, 3),
        ("", 0),
        ("-1", 0),
        ("2", 1),
        ("0, 2", 2),
        ("2,1,0", 3),
        ("0,7,1", 1),
        ("GPU-a0,GPU-c", 2),
        ("GPU-", 0),
        ("GPU-x", 0),
        ("NoDevFiles", 0),
        ("MIG-1234", 1),
    ],
)
def test_visible_devices_variable_sets_the_gpu_count(setting: str | None, count: int) -> None:
    assert visible_gpus(GPUS, setting) == count


def test_no_driver_means_no_visible_gpus() -> None:
    assert visible_gpus((), None) == visible_gpus((), "0") == 0
