from typing import Any

import pytest

from benchtui.sessions.estimates.memory import MemoryForecast, Prediction
from benchtui.sessions.payloads import Memory
from benchtui.sessions.sweep import Config


def gpu(batch_size: int, sequence_length: int = 128, **options: Any) -> Config:
    return Config(device="cuda:0", batch_size=batch_size, sequence_length=sequence_length, **options)


def allocated(mb: float) -> Memory:
    return Memory(peak_allocated_mb=mb, peak_rss_mb=9000.0)


@pytest.fixture
def forecast() -> MemoryForecast:
    """Return a forecast with 500 MB fixed and 10 MB per sample of 128 tokens."""
    forecast = MemoryForecast()
    for size in (1, 2, 4):
        forecast.learn(gpu(size), allocated(500 + 10 * size))
    return forecast


def test_memory_grows_with_batch_size_times_sequence_length(forecast: MemoryForecast) -> None:
    assert forecast.predict(gpu(64)) == Prediction(pytest.approx(1140.0), "allocated")
    assert forecast.predict(gpu(1, 256)) == Prediction(pytest.approx(520.0), "allocated")


@pytest.mark.parametrize(
    "options", [{"precision": "fp16"}, {"compile": "default"}, {"threads": 2}, {"cache": "static"}]
)
def test_another_family_gives_no_prediction(forecast: MemoryForecast, options: dict[str, Any]) -> None:
    assert forecast.predict(gpu(64, **options)) is None
    assert forecast.predict(Config(device="cuda:1", batch_size=64)) is None


def test_two_distinct_sizes_are_needed() -> None:
    forecast = MemoryForecast()
    forecast.learn(gpu(1), allocated(500.0))
    forecast.learn(gpu(1, repeat=1), allocated(510.0))
    forecast.learn(gpu(2), None)
    forecast.learn(gpu(2), Memory(peak_rss_mb=9000.0))
    assert forecast.predict(gpu(4)) is None
    forecast.learn(gpu(2), allocated(520.0))
    assert forecast.predict(gpu(4)) == Prediction(pytest.approx(540.0), "allocated")


def test_cuda_graphs_are_predicted_by_reserved_memory() -> None:
    forecast = MemoryForecast()
    for size in (1, 2):
        forecast.learn(gpu(size, compile="reduce-overhead"), Memory(peak_reserved_mb=500.0 + 10 * size))
    assert forecast.predict(gpu(4, compile="reduce-overhead")) == Prediction(pytest.approx(540.0), "reserved")


def test_cpu_prediction_is_resident_memory_and_never_decreases() -> None:
    forecast = MemoryForecast()
    for size, mb in ((1, 702.0), (2, 698.0)):
        forecast.learn(Config(device="cpu", batch_size=size), Memory(peak_rss_mb=mb))
    assert forecast.predict(Config(device="cpu", batch_size=512)) == Prediction(pytest.approx(700.0), "RSS")


def test_only_successful_cases_are_learned(bench: Any) -> None:
    ended = [bench.case(size, ms=1.0, end={"memory": Memory(peak_rss_mb=100.0 + size)}) for size in (1, 2)]
    burst = bench.case(8, outcome="oom", end={"memory": Memory(peak_rss_mb=1.0)})
    session = bench.session(*ended, burst, bench.case(16, outcome=None), finished=None)
    forecast = MemoryForecast(session.cases)
    assert forecast.predict(Config(device="cpu", batch_size=16)) == Prediction(pytest.approx(116.0), "RSS")
