"""Export schema: one case as a row of plain values (the CSV columns, and the JSON fields except nested ones).

A contract with other programs: columns may be added, but are renamed only with a new ``SCHEMA``. Names end in
their units: ``_ms``, ``_per_s``, ``_mb`` (10**6 bytes), ``_w``, ``_j``, ``_percent``. Missing values are null,
or an empty cell.
"""

from typing import TYPE_CHECKING
from typing import Annotated as A

import msgspec
from msgspec import Meta

from benchtui.sessions.sweep.options import OPTIONS, Option

SCHEMA = 2
# 1  2026-11: initial version.
# 2  2026-11: options of an imported case are null if its tool doesn't record them; ``verdict`` says same and
#    unsure instead of "no difference" and "not known"; ``speedup`` is based on typical steps.

Text = str | None
Amount = int | None
Figure = float | None


class _Identity(msgspec.Struct, frozen=True, kw_only=True):
    case: A[int, Meta(description="Number in the session's plan, counted from 0.")]
    name: A[str, Meta(description="The options in one readable line.")]


def _requested(option: Option) -> tuple[str, object]:
    kind: object = Amount if option.numeric else Text if option.label_covers else str
    return option.name, A[kind, Meta(description=option.help)]


def _actual(option: Option) -> tuple[str, object]:
    kind = Amount if option.numeric else Text
    return actual_column(option.name), A[kind, Meta(description=f"{option.name} that was applied, read back.")]


def actual_column(option: str) -> str:
    """Return the column of an option's actual value, if the option is one of ``ACTUAL``."""
    return f"{option}_used"


ACTUAL = tuple(option for option in OPTIONS if option.read_back and not option.own_fields)
"""Options whose actual value has a column named after the option."""
if TYPE_CHECKING:
    _Options = _Identity  # a type checker can't infer fields from a table
else:
    _Options = msgspec.defstruct(
        "_Options",
        [*map(_requested, OPTIONS), *map(_actual, ACTUAL)],
        bases=(_Identity,),
        frozen=True,
        kw_only=True,
    )


class CaseRow(_Options, frozen=True, kw_only=True):
    """One case of a session: requested options, outcome, and metrics if it succeeded."""

    again: A[bool, Meta(description="Whether it's the second case of an A/A pair.")]
    node: A[Text, Meta(description="Cluster node that it ran on; empty for this machine.")]
    outcome: A[
        str, Meta(description="One of ok, oom, skipped, failed, timeout, interrupted, running and queued.")
    ]
    reason: A[Text, Meta(description="Reason why the case failed or was skipped.")]
    signal: A[Text, Meta(description="Signal that killed the worker, such as SIGKILL.")]
    exit_code: A[Amount, Meta(description="Exit status of the worker.")]
    stderr_line: A[Text, Meta(description="Last line that the worker wrote to standard error.")]
    marks: A[tuple[str, ...], Meta(description="Warnings about the row; in CSV joined by '; '.")]
    weights_dtype: A[Text, Meta(description="Dtype of the model's weights, read back.")]
    autocast_dtype: A[Text, Meta(description="Dtype of autocast, read back; empty without autocast.")]
    attention_used: A[Text, Meta(description="Attention implementation, read back from the model.")]
    weights_mb: A[Figure, Meta(description="Memory of all weights and buffers, read back.")]
    draft_acceptance_percent: A[Figure, Meta(description="Share of drafted tokens that the model accepted.")]
    compiled: A[bool | None, Meta(description="Whether the step ran compiled code, read back.")]
    threads_used: A[Amount, Meta(description="Threads that torch uses inside an operator, read back.")]
    samples_per_step: A[int, Meta(description="Samples in a step; with accumulation, of all its batches.")]
    n: A[Amount, Meta(description="Number of measured steps.")]
    rounds: A[Amount, Meta(description="Number of rounds in which they were measured.")]
    warmup_steps: A[Amount, Meta(description="Number of warm-up steps; they are recorded but don't count.")]
    stop: A[Text, Meta(description="Reason why measuring stopped.")]
    latency_mean_ms: A[Figure, Meta(description="Mean time of a whole step, including tokenizing.")]
    latency_p50_ms: A[Figure, Meta(description="Median time of a step.")]
    latency_typical_ms: A[
        Figure, Meta(description="Geometric mean of the rounds' medians; speedups are based on it.")
    ]
    latency_p90_ms: A[Figure, Meta(description="90th percentile of the step times, from 20 steps on.")]
    latency_p95_ms: A[Figure, Meta(description="95th percentile, from 40 steps on.")]
    latency_p99_ms: A[Figure, Meta(description="99th percentile, from 100 steps on.")]
    latency_std_ms: A[Figure, Meta(description="Sample standard deviation of the step times (n - 1).")]
    latency_least_ms: A[Figure, Meta(description="Time of the fastest step.")]
    latency_most_ms: A[Figure, Meta(description="Time of the slowest step.")]
    latency_interval_low_ms: A[Figure, Meta(description="Lower end of the median's 95% confidence interval.")]
    latency_interval_high_ms: A[Figure, Meta(description="Upper end of that interval.")]
    latency_interval_percent: A[
        Figure, Meta(description="Half-width of that interval, relative to the median.")
    ]
    jitter_percent: A[Figure, Meta(description="Standard deviation relative to the mean.")]
    between_rounds_percent: A[Figure, Meta(description="Range of the rounds' medians, relative to the median.")]
    outliers: A[Amount, Meta(description="Number of outlying steps; they stay in all metrics.")]
    device_p50_ms: A[Figure, Meta(description="Median time between device events around the step.")]
    host_p50_ms: A[
        Figure, Meta(description="Median time until the step's call returned, including waits inside it.")
    ]
    wait_mean_ms: A[Figure, Meta(description="Mean time that the host then waited for the device.")]
    sample: A[Text, Meta(description="Unit of a sample: sample, image, embedding, request, or audio-s.")]
    samples_per_s: A[Figure, Meta(description="Throughput: all samples over the time of all steps.")]
    samples_per_s_low: A[
        Figure, Meta(description="Lower end of its 95% interval, from the mean steps of the rounds.")
    ]
    samples_per_s_high: A[Figure, Meta(description="Upper end of that interval.")]
    tokens_per_s: A[
        Figure, Meta(description="Tokens per second without padding, counted by the attention mask.")
    ]
    padded_tokens_per_s: A[Figure, Meta(description="Tokens per second with padding.")]
    new_tokens_per_s: A[Figure, Meta(description="Generated tokens over the time of whole steps.")]
    time_to_first_token_p50_ms: A[
        Figure, Meta(description="Median time to first token, of steps or (serve-batch) requests.")
    ]
    time_to_first_token_p90_ms: A[Figure, Meta(description="90th percentile of the time to first token.")]
    time_to_first_token_p99_ms: A[Figure, Meta(description="99th percentile of the time to first token.")]
    time_per_output_token_p50_ms: A[
        Figure,
        Meta(description="Median time per output token after the first, of steps or (serve-batch) tokens."),
    ]
    time_per_output_token_p90_ms: A[Figure, Meta(description="90th percentile of the time per output token.")]
    time_per_output_token_p99_ms: A[Figure, Meta(description="99th percentile of the time per output token.")]
    request_p50_ms: A[
        Figure, Meta(description="Median time from submitting a request to its last token (task serve-batch).")
    ]
    request_p90_ms: A[Figure, Meta(description="90th percentile of that time.")]
    request_p99_ms: A[Figure, Meta(description="99th percentile of that time.")]
    loss: A[Figure, Meta(description="Loss of the last measured training step.")]
    first_step_ms: A[Figure, Meta(description="Time of the worker's first step, which is part of the warm-up.")]
    cold_cost_ms: A[
        Figure, Meta(description="Extra time of first step and warm-up over steady steps, including compiling.")
    ]
    peak_allocated_mb: A[
        Figure, Meta(description="Peak of the memory of tensors in the framework's allocator.")
    ]
    peak_reserved_mb: A[
        Figure, Meta(description="Peak of the memory that this allocator reserved, including its cache.")
    ]
    peak_device_mb: A[
        Figure, Meta(description="Peak of the process's memory on the device, as the driver reports it.")
    ]
    peak_rss_mb: A[Figure, Meta(description="Peak of the worker's resident memory.")]
    peak_memory_low_mb: A[
        Figure, Meta(description="Lowest of the rounds' memory peaks: on the device, or resident on a CPU.")
    ]
    kv_cache_mb: A[
        Figure,
        Meta(description="Size of the KV cache after a batch is generated; the full size of a static cache."),
    ]
    energy_j: A[Figure, Meta(description="Energy of the device over the measured steps.")]
    mean_power_w: A[Figure, Meta(description="Mean power of the device.")]
    energy_per_sample_j: A[Figure, Meta(description="Energy per sample.")]
    energy_per_sample_low_j: A[
        Figure, Meta(description="Lower end of its 95% interval over the rounds, from 3 rounds on.")
    ]
    energy_per_sample_high_j: A[Figure, Meta(description="Upper end of that interval.")]
    energy_source: A[Text, Meta(description="Source of the energy: counter, sampled power or averaged power.")]
    energy_absent: A[Text, Meta(description="Reason why there is no energy.")]
    user_ms: A[Figure, Meta(description="Mean CPU time of a step in user mode.")]
    system_ms: A[Figure, Meta(description="Mean CPU time of a step in the kernel.")]
    others_cpu_percent: A[
        Figure, Meta(description="CPU use of other processes in the worst round; 100 is one processor.")
    ]
    sm_clock_mhz: A[Figure, Meta(description="Mean clock of the GPU's SMs.")]
    memory_clock_mhz: A[Figure, Meta(description="Mean clock of the GPU's memory.")]
    processor_mhz: A[Figure, Meta(description="Mean clock of the busy processors.")]
    temperature_c: A[Figure, Meta(description="Highest temperature of the GPU.")]
    sm_active_percent: A[Figure, Meta(description="Mean share of SMs with work (GPM counter).")]
    sm_occupancy_percent: A[
        Figure, Meta(description="Active warps relative to the maximum of the SMs (GPM counter).")
    ]
    tensor_active_percent: A[
        Figure, Meta(description="Share of time in which the tensor cores computed (GPM counter).")
    ]
    dram_active_percent: A[
        Figure, Meta(description="Bandwidth of the GPU's memory relative to its maximum (GPM counter).")
    ]
    pcie_rx_mb_per_s: A[Figure, Meta(description="Transfer rate to the GPU over PCIe.")]
    pcie_tx_mb_per_s: A[Figure, Meta(description="Transfer rate from the GPU over PCIe.")]
    nvlink_rx_mb_per_s: A[Figure, Meta(description="Transfer rate to the GPU over all NVLinks.")]
    nvlink_tx_mb_per_s: A[Figure, Meta(description="Transfer rate from the GPU over all NVLinks.")]
    instructions_per_cycle: A[
        Figure, Meta(description="Instructions per cycle of the worker in user mode (perf counters).")
    ]
    memory_mb_per_s: A[
        Figure, Meta(description="Transfer rate between all processors and their memory (perf counters).")
    ]
    reported_gpu_utilization_percent: A[
        Figure, Meta(description="Mean GPU utilization as an imported file reports it.")
    ]
    reported_compile_call_s: A[
        Figure,
        Meta(description="Time of the call to torch.compile, which doesn't compile yet (imported cases only)."),
    ]
    graphs: A[Amount, Meta(description="Number of graphs that were compiled.")]
    graph_breaks: A[Amount, Meta(description="Number of graph breaks.")]
    recompiles: A[Amount, Meta(description="Number of graphs compiled while measuring.")]
    cuda_graphs: A[Amount, Meta(description="Number of CUDA graphs that were recorded.")]
    cuda_graph_skips: A[Amount, Meta(description="Number of times that recording a CUDA graph was skipped.")]
    baseline: A[Amount, Meta(description="Number of the case that this one is compared with.")]
    speedup: A[Figure, Meta(description="Throughput at the typical step, relative to the baseline's.")]
    speedup_low: A[Figure, Meta(description="Lower end of the speedup's 95% confidence interval.")]
    speedup_high: A[Figure, Meta(description="Upper end of that interval.")]
    verdict: A[Text, Meta(description="Verdict on the speedup: faster, slower, same or unsure.")]
    verdict_doubt: A[Text, Meta(description="Reason for unsure: no interval, wide, steps, totals or outside.")]
    verdict_resolution_percent: A[
        Figure, Meta(description="Smallest difference that could have been detected.")
    ]
    answer: A[Text, Meta(description="Verdict on the output: identical, close, different or broken.")]
    answer_baseline: A[Amount, Meta(description="Number of the case that its output was compared with.")]
    answer_kl_mean: A[Figure, Meta(description="Mean KL(baseline || case) of the logits, in nats.")]
    answer_kl_p99: A[
        Figure, Meta(description="99th percentile of the KL over the positions, from 100 positions on.")
    ]
    answer_top1_agreement: A[
        Figure, Meta(description="Share of positions with the same most likely token or class.")
    ]
    answer_sqnr_db: A[
        Figure, Meta(description="Signal-to-noise ratio of logits, embeddings or custom values, in dB.")
    ]
    answer_largest_difference: A[Figure, Meta(description="Largest absolute difference between two values.")]
    answer_cosine: A[
        Figure, Meta(description="Cosine similarity of custom values, or mean cosine similarity of embeddings.")
    ]
    answer_equal_tokens: A[Figure, Meta(description="Share of generated tokens that are equal.")]
    answer_first_difference: A[
        Amount, Meta(description="Index of the first new token or training step that differs.")
    ]
    answer_loss_difference: A[Figure, Meta(description="Largest relative difference of a loss.")]
    answer_digest: A[Text, Meta(description="Hash of the output's bits, comparable between sessions.")]
    answer_absent: A[Text, Meta(description="Reason why there is no output, or why it wasn't compared.")]
