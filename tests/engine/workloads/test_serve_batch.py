import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from benchtui.engine.devices.registry import open_device
from benchtui.engine.worker.step_cost import TypicalStep, measure_step_cost
from benchtui.engine.workloads import serve_batch
from benchtui.engine.workloads.serve_batch import MOST_TIMES, manager_settings, request_times
from benchtui.sessions.errors import CaseSkippedError

pytestmark = pytest.mark.skipif(
    int(transformers.__version__.partition(".")[0]) < 5, reason="continuous batching needs transformers 5"
)


@pytest.fixture
def serve(made: Callable[..., Any], tiny_gpt2: Path) -> Iterator[Callable[..., Any]]:
    """Make a workload; its manager is stopped at the end."""
    started = []

    def make(*overrides: str) -> Any:
        options = ("sequence_length=32", "new_tokens=4", "dataset=synthetic", *overrides)
        started.append(made("serve-batch", tiny_gpt2, *options))
        return started[-1]

    yield make
    for workload in started:
        workload._manager.stop(block=True)


def test_step_serves_prompts_of_mixed_lengths(serve: Callable[..., Any]) -> None:
    workload = serve("batch_size=6")
    parts: list[str] = []
    done = workload.step(parts.append)
    lengths = [len(prompt) for prompt in done.prompts]
    assert parts == ["serve"]
    assert len(set(lengths)) > 1
    assert all(8 <= length <= 32 for length in lengths)
    assert [len(tokens) for tokens in done.generated] == [4] * 6
    counted = workload.count(done)
    assert counted.tokens == counted.padded_tokens == sum(lengths) + 6 * 4
    assert (workload.samples, workload.new_tokens) == (6, 4)
    assert workload.kv_cache_mb is not None


def test_times_of_requests_are_those_of_their_tokens(serve: Callable[..., Any]) -> None:
    times = serve("batch_size=3").step(lambda part: None).times
    assert (len(times.first_token_ms), len(times.between_tokens_ms), len(times.request_ms)) == (3, 9, 3)
    assert all(0 < first < whole for first, whole in zip(times.first_token_ms, times.request_ms, strict=True))


def test_tokens_match_greedy_generation_one_by_one(serve: Callable[..., Any]) -> None:
    workload = serve("batch_size=2")
    with torch.no_grad():
        for parameter in workload._network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.3)
    answer = workload.answer(0.0)
    workload._batches.rewind()
    prompts = workload._prompts(lambda part: None) + workload._prompts(lambda part: None)
    workload._network.set_attn_implementation("sdpa")
    with torch.inference_mode():
        for prompt, tokens in zip(prompts, answer.values.tolist(), strict=True):
            ids = torch.tensor([prompt])
            for _ in range(4):
                logits = workload._network(input_ids=ids, use_cache=False).logits
                ids = torch.cat((ids, logits[:, -1:].argmax(-1)), 1)
            assert ids[0, len(prompt) :].tolist() == tokens
    assert (answer.kind, answer.values.shape) == ("tokens", (4, 4))


def test_texts_are_prompts_without_padding(serve: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("good film\none two three\n")
    workload = serve("batch_size=2", f"dataset={tmp_path / 'two.txt'}")
    assert [len(prompt) for prompt in workload.step(lambda part: None).prompts] == [4, 5]


def test_attention_is_read_back_by_its_name(serve: Callable[..., Any]) -> None:
    assert serve("attention=eager").effective.attention == "eager"


def test_operations_are_absent_with_the_reason(serve: Callable[..., Any]) -> None:
    cost = measure_step_cost(serve(), open_device("cpu"), TypicalStep(0.01, 40))
    assert cost.flops is None
    assert "separate thread" in cost.absent["flops"]


def test_error_in_the_thread_of_the_manager_ends_the_step(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = serve()

    def broken(*args: object, **options: object) -> None:
        raise torch.OutOfMemoryError("played")

    monkeypatch.setattr(workload._manager, "_generation_step", broken)
    with pytest.raises(torch.OutOfMemoryError, match="played"):
        workload.step(lambda part: None)


def test_older_transformers_is_a_reason_to_skip(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_batch, "_manager_config", lambda: None)
    with pytest.raises(CaseSkippedError, match="requires transformers 5 or later"):
        serve()


def test_model_that_can_not_be_batched_is_skipped(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise ValueError("no paged attention")

    monkeypatch.setattr(transformers.GPT2LMHeadModel, "init_continuous_batching", refuse)
    with pytest.raises(CaseSkippedError, match=r"can't batch GPT2LMHeadModel .*: no paged attention"):
        serve()


def test_many_times_between_tokens_are_thinned_out_by_rank() -> None:
    arrivals = [0.001 * place * place for place in range(3 * MOST_TIMES)]
    times = request_times(0.0, [arrivals])
    gaps = [1000 * (after - before) for before, after in pairwise(arrivals)]
    kept = times.between_tokens_ms
    assert len(kept) == MOST_TIMES
    assert (kept[0], kept[-1]) == (pytest.approx(min(gaps)), pytest.approx(max(gaps)))
    assert sorted(gaps)[len(gaps) // 2] == pytest.approx(kept[MOST_TIMES // 2], rel=0.01)
    assert times.request_ms == [pytest.approx(1000 * arrivals[-1])]


def test_settings_are_those_that_the_installed_version_has() -> None:
    def since_5_18(page_size: int, num_blocks: int, auto_switch_to_flash: bool, block_size: int = 0) -> Any:
        return page_size, num_blocks, auto_switch_to_flash, block_size

    def until_5_17(block_size: int, num_blocks: int) -> Any:
        return block_size, num_blocks

    wanted = {"page_size": 16, "num_blocks": 3, "auto_switch_to_flash": True}
    assert manager_settings(since_5_18, wanted) == (16, 3, True, 0)
    assert manager_settings(until_5_17, wanted) == (16, 3)


def test_settings_that_cannot_be_built_skip_the_case(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(page_size: int) -> None:
        raise ValueError("page_size: 16 is too small")

    monkeypatch.setattr(serve_batch, "_manager_config", lambda: refuse)
    with pytest.raises(CaseSkippedError, match="page_size: 16 is too small"):
        serve("batch_size=1")


class Stopped:
    """A manager without a thread."""


MANAGER = """
import threading
from benchtui.engine.workloads.serve_batch import _stop_at_exit
class Manager:
    def __init__(self):
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.stopping.wait)
        self.thread.start()
    def is_running(self):
        return self.thread.is_alive()
    def stop(self):
        print("stopped")
        self.stopping.set()
        self.thread.join()
manager = Manager()
_stop_at_exit(manager)
"""


@pytest.mark.parametrize("last", ["", "manager.stop()"], ids=["at exit", "by the program"])
def test_manager_is_stopped_once_before_the_process_ends(last: str) -> None:
    """Its thread would keep the process; transformers logs each further stop."""
    script = (sys.executable, "-c", MANAGER + last)
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "stopped\n"


def test_manager_that_has_stopped_is_not_kept_with_its_model() -> None:
    manager = Stopped()
    serve_batch._stop_at_exit(manager)
    watched = weakref.ref(manager)
    del manager
    assert watched() is None
