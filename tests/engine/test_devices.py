from time import sleep

import pytest
import torch

from benchtui.engine.devices import Lap, open_device, rss
from benchtui.engine.devices.base import add_up
from benchtui.engine.devices.cpu import Cpu
from benchtui.sessions.errors import BenchtuiError


def test_parts_of_a_step_on_cpu_add_up_to_the_whole() -> None:
    def step(lap: Lap) -> str:
        sleep(0.01)
        lap("first")
        sleep(0.02)
        lap("second")
        return "done"

    time, done = open_device("cpu").time(step)
    assert done == "done"
    assert time.device_ms is None
    assert list(time.parts_ms) == ["first", "second"]
    assert time.parts_ms["first"] >= 10
    assert time.parts_ms["second"] >= 20
    assert sum(time.parts_ms.values()) == pytest.approx(time.wall_ms, rel=0.05)


def test_a_part_that_comes_several_times_has_the_sum_of_its_times() -> None:
    assert add_up(["a", "b", "a"], [1.0, 2.0, 4.0]) == {"a": 5.0, "b": 2.0}
    assert list(open_device("cpu").time(lambda lap: [lap(part) for part in "aba"])[0].parts_ms) == ["a", "b"]


def test_an_allocation_that_the_processor_refuses_is_out_of_memory() -> None:
    device = Cpu()
    with pytest.raises(RuntimeError) as raised:
        torch.empty(10**15)
    assert device.out_of_memory(raised.value) == (
        "out of memory on cpu: 4,000,000,000 MB asked for in one piece"
    )
    assert device.out_of_memory(MemoryError()) == "out of memory on cpu"
    assert device.out_of_memory(RuntimeError("shape '[2]' is invalid")) is None


def test_the_peak_of_resident_memory_counts_from_its_reset() -> None:
    block = torch.ones(50_000_000)
    with_block_mb = rss.peak_mb()
    del block
    rss.reset_peak()
    after_mb = rss.peak_mb()
    assert with_block_mb - after_mb > 150
    assert len(torch.ones(25_000_000)) == 25_000_000
    assert rss.peak_mb() - after_mb > 75


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(BenchtuiError, match=r"cuda:0: no such device; torch .* sees 0 CUDA devices"):
        open_device("cuda:0")
