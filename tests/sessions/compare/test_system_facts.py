import pytest

from benchtui.sessions.compare.system_facts import machine_facts
from benchtui.sessions.events import Runtime
from benchtui.sessions.payloads import Host


@pytest.mark.parametrize(
    ("runtime", "gpu"),
    [
        (None, "none"),
        (Runtime(t=0.0, torch="2.9"), "none"),
        (Runtime(t=0.0, torch="2.9", hip="6.4", cuda_devices=("MI300X",)), "unreadable: built for ROCm"),
    ],
)
def test_gpu_that_torch_uses_is_unreadable_instead_of_missing(runtime: Runtime | None, gpu: str) -> None:
    assert ("GPU", gpu) in machine_facts(Host(absent={"gpu": "built for ROCm"}), runtime)
