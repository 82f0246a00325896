"""Serving by transformers' continuous batching: a step is a set of requests with prompts of mixed lengths."""

import inspect
import threading
import weakref
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import Any

import msgspec
import torch
from msgspec.structs import replace
from transformers import AutoModelForCausalLM, GenerationConfig

from benchtui.engine.devices import oom
from benchtui.engine.devices.base import Device, Lap, no_lap
from benchtui.engine.exception_text import described
from benchtui.engine.workloads.base import Output, StepCounts
from benchtui.engine.workloads.transformer_task import NetworkTask
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError
from benchtui.sessions.payloads import Effective, RequestTimes
from benchtui.sessions.sweep import SYNTHETIC, Config, Sweep

PAGE_TOKENS = 16
"""Tokens per page of the paged KV cache: the size that servers use, so that short requests waste little."""
MOST_BATCH_TOKENS = 8192
"""Maximum number of tokens in one pass; transformers' own default."""
SHORTEST = 4
"""Sequence length divided by the length of the shortest synthetic prompt. The longest has the full length."""
MOST_TIMES = 1000
"""Maximum number of times between tokens recorded per step. Of more, evenly spaced ranks are recorded."""
WAIT_S = 1.0
PAGED = "paged|"
"""Prefix of transformers' names for attention with a paged cache."""
UNCOUNTED = "continuous batching runs in a separate thread, which torch's counters don't see"


class Served(msgspec.Struct, frozen=True):
    """Result of a step: the tokens of each request, and their times."""

    prompts: list[list[int]]
    generated: list[list[int]]
    times: RequestTimes


class ServeBatch(NetworkTask):
    """Requests that are submitted together, and rebatched in each pass.

    The paged cache has room for all requests of a step, and prefixes aren't shared: all steps do the same work.
    """

    auto = AutoModelForCausalLM
    generates = True
    _generated_tokens = 0
    """Number of tokens generated for a request of the last step."""

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load model and batches, and start transformers' manager. Raises BenchtuiError if that fails."""
        if _manager_config() is None:
            raise CaseSkippedError(
                "serve-batch needs continuous batching, which requires transformers 5 or later"
            )
        self._mixes = sweep.dataset == SYNTHETIC
        super().__init__(sweep, config, device)
        self._manager = self._start()
        self.effective = self.read_back()

    def step(self, lap: Lap) -> Served:
        """Serve the next requests."""
        prompts = self._prompts(lap)
        served = self._serve(prompts)
        lap("serve")
        return served

    def count(self, done: Any) -> StepCounts:  # noqa: ANN401  (a ``Served``)
        """Count the tokens of prompts and answers; nothing is padded."""
        tokens = sum(map(len, done.prompts)) + sum(map(len, done.generated))
        return StepCounts(tokens=tokens, padded_tokens=tokens, requests=done.times)

    def repeat_step(self, padded_tokens: int, *, one_batch: bool = False) -> int | None:
        """Raise BenchtuiError: nothing can be counted in another thread."""
        raise BenchtuiError(UNCOUNTED)

    def answer(self, step_s: float) -> Output:
        """Return the tokens generated for the first prompts, with shape (prompts, new tokens)."""
        rows = self._begin_probe(step_s)
        prompts: list[list[int]] = []
        while len(prompts) < rows:
            prompts += self._prompts(no_lap)
        return Output("tokens", torch.tensor(self._serve(prompts[:rows]).generated), self._shortened)

    def read_back(self) -> Effective:
        """Read the applied options back. Paged attention is reported by the name of its implementation."""
        effective = super().read_back()
        return replace(effective, attention=effective.attention and effective.attention.removeprefix(PAGED))

    def _prompts(self, lap: Lap) -> list[list[int]]:
        """Return the next prompts without padding: texts unchanged, synthetic ones cut to mixed lengths."""
        batch = self._draw(lap)
        rows = zip(batch.inputs["input_ids"], batch.mask.bool(), strict=True)
        prompts: list[list[int]] = [row[mask].tolist() for row, mask in rows]
        return [prompt[: self._mixed_length(prompt)] for prompt in prompts] if self._mixes else prompts

    def _mixed_length(self, row: list[int]) -> int:
        """Return the length of a synthetic prompt, derived from its first token, which is random."""
        longest = self._config.sequence_length
        shortest = max(1, longest // SHORTEST)
        return shortest + row[0] % (longest - shortest + 1)

    def _serve(self, prompts: list[list[int]]) -> Served:
        """Submit requests, and wait until the last one is complete."""
        begin_s = perf_counter()
        names = self._manager.add_requests(prompts, max_new_tokens=self.new_tokens, record_timestamps=True)
        done: dict[str, Any] = {}
        while len(done) < len(names):
            result = self._manager.get_result(timeout=WAIT_S)
            if result is None:
                self._require_running()
            elif result.error is not None:
                self._require_running()
                raise BenchtuiError(f"a request failed: {result.error}")
            elif result.is_finished():
                done[result.request_id] = result
        results = [done[name] for name in names]
        times = request_times(begin_s, [result.timestamps for result in results])
        self._generated_tokens = len(results[-1].generated_tokens)
        return Served(prompts, [result.generated_tokens for result in results], times)

    def _require_running(self) -> None:
        """Raise the error that ended the manager's thread, if it has ended."""
        error = self._manager.background_thread_status.fatal_error
        if isinstance(error, BaseException):
            raise error
        if not self._manager.is_running():
            raise BenchtuiError("transformers' thread of continuous batching has ended")

    def _start(self) -> Any:  # noqa: ANN401  (a class of transformers)
        """Start transformers' request manager, and serve one request to check that it can run the model."""
        most = self._config.sequence_length + (self.new_tokens or 0)
        pages = self.samples * (-(-most // PAGE_TOKENS) + 1)
        wanted = {
            "page_size": PAGE_TOKENS,
            "num_blocks": pages,
            "max_batch_tokens": min(MOST_BATCH_TOKENS, self.samples * most),
            "max_requests_per_batch": self.samples,
            "allow_block_sharing": False,
            "auto_switch_to_flash": self._config.attention == "auto",
        }
        try:
            settings = manager_settings(_manager_config(), wanted)
            manager = self._network.init_continuous_batching(
                generation_config=GenerationConfig(
                    do_sample=False, eos_token_id=-1, max_new_tokens=self.new_tokens
                ),
                continuous_batching_config=settings,
            )
            manager.start()
            _stop_at_exit(manager)
            self._manager = manager
            self._serve([[0]])
        except CaseSkippedError:
            raise
        except Exception as error:
            if oom.reason(str(self._device), error):
                raise
            reason = f"serve-batch: transformers can't batch {self.model.architecture} continuously here"
            raise CaseSkippedError(f"{reason}: {described(error)}") from error
        self.kv_cache_mb = _cache_mb(manager)
        return manager

    def _others(self) -> dict[str, str | int]:
        return {**super()._others(), "new_tokens": self._generated_tokens}


def request_times(begin_s: float, arrivals_s: list[list[float]]) -> RequestTimes:
    """Return the times of requests that were submitted together, from the arrival times of their tokens."""
    gaps = sorted(_ms(after - before) for arrived in arrivals_s for before, after in pairwise(arrived))
    if len(gaps) > MOST_TIMES:
        last = len(gaps) - 1
        gaps = [gaps[round(rank * last / (MOST_TIMES - 1))] for rank in range(MOST_TIMES)]
    return RequestTimes(
        first_token_ms=[_ms(arrived[0] - begin_s) for arrived in arrivals_s],
        between_tokens_ms=gaps,
        request_ms=[_ms(arrived[-1] - begin_s) for arrived in arrivals_s],
    )


def manager_settings(kind: Callable[..., Any], wanted: dict[str, Any]) -> Any:  # noqa: ANN401
    """Build transformers' settings from those that the class of the installed version has."""
    fields = inspect.signature(kind).parameters
    if "page_size" not in fields:
        wanted = {"block_size": wanted["page_size"], **wanted}  # its name before transformers 5.18
    return kind(**{name: value for name, value in wanted.items() if name in fields})


def _ms(seconds: float) -> float:
    """Return a time in milliseconds, rounded to 0.1 µs. More digits would only enlarge the session file."""
    return max(round(1000 * seconds, 4), 0.0)


def _manager_config() -> Any:  # noqa: ANN401  (a class of transformers)
    """Return transformers' settings class for continuous batching; None in versions without one."""
    try:
        from transformers import ContinuousBatchingConfig  # not in transformers 4
    except ImportError:
        return None
    return ContinuousBatchingConfig


def _stop_at_exit(manager: Any) -> None:  # noqa: ANN401
    """Stop the manager's thread once the main thread has ended. The process would otherwise never exit."""
    watched = weakref.ref(manager)  # its own thread keeps it; one that has stopped must not keep its model

    def stop() -> None:
        threading.main_thread().join()
        running = watched()
        if running and running.is_running():  # stopping it twice would be logged
            running.stop()

    threading.Thread(target=stop, daemon=True).start()


def _cache_mb(manager: Any) -> float | None:  # noqa: ANN401
    """Return the size of the paged KV cache in units of 10**6 bytes; None if this version doesn't expose it."""
    cache = getattr(getattr(manager, "batch_processor", None), "cache", None)
    whole = getattr(cache, "cache_tensor", None)
    by_layer = [
        *getattr(cache, "key_cache", ()),
        *getattr(cache, "value_cache", ()),
    ]  # before transformers 5.18
    stored = by_layer if whole is None else [whole]
    return sum(tensor.numel() * tensor.element_size() for tensor in stored) / 1e6 if stored else None
