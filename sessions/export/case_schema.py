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
    _Options = _Identity  # a type checker can't know the fields of a table
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

    again: A[bool, Meta(description="Whether it is the second case of an A/A pair.")]
    node: A[Text, Meta(description="Node of a cluster that it ran on; empty for this machine.")]
    outcome: A[str, Meta(description="ok, oom, skipped, failed, timeout, interrupted, running or queued.")]
    reason: A[Text, Meta(description="Why the case didn't end well.")]
    signal: A[Text, Meta(description="That ended the worker, such as SIGKILL.")]
    exit_code: Amount
    stderr_line: A[Text, Meta(description="The last line the worker wrote to its standard error.")]
    marks: A[tuple[str, ...], Meta(description="What to know before believing the row; in CSV joined by '; '.")]
    weights_dtype: A[Text, Meta(description="Read back from the model.")]
    autocast_dtype: A[Text, Meta(description="Read back; empty without autocast.")]
    attention_used: A[Text, Meta(description="Read back: the implementation of attention.")]
    weights_mb: A[Figure, Meta(description="Memory of all weights and buffers, read back.")]
    draft_acceptance_percent: A[Figure, Meta(description="Drafted tokens that the model accepted.")]
    compiled: A[bool | None, Meta(description="Read back.")]
    threads_used: A[Amount, Meta(description="Read back: threads of torch inside one operation.")]
    samples_per_step: int
    n: A[Amount, Meta(description="Measured steps that the figures rest on.")]
    rounds: A[Amount, Meta(description="Rounds in which they were measured.")]
    warmup_steps: A[Amount, Meta(description="Recorded and never counted.")]
    stop: A[Text, Meta(description="Why measuring ended.")]
    latency_mean_ms: A[Figure, Meta(description="A whole step, tokenizing included.")]
    latency_p50_ms: Figure
    latency_typical_ms: A[Figure, Meta(description="Geometric mean of the rounds' medians; ratios are of it.")]
    latency_p90_ms: A[Figure, Meta(description="Not below 20 steps.")]
    latency_p95_ms: A[Figure, Meta(description="Not below 40 steps.")]
    latency_p99_ms: A[Figure, Meta(description="Not below 100 steps.")]
    latency_std_ms: A[Figure, Meta(description="Standard deviation of the sample (n - 1).")]
    latency_least_ms: Figure
    latency_most_ms: Figure
    latency_interval_low_ms: A[Figure, Meta(description="95% interval of the median; see README.")]
    latency_interval_high_ms: Figure
    latency_interval_percent: A[Figure, Meta(description="Half of that interval's width over the median.")]
    jitter_percent: A[Figure, Meta(description="Standard deviation over the mean.")]
    between_rounds_percent: A[Figure, Meta(description="Range of the rounds' medians over the median.")]
    outliers: A[Amount, Meta(description="Steps far off; they stay in all figures.")]
    device_p50_ms: A[Figure, Meta(description="Between device events around the step.")]
    host_p50_ms: A[Figure, Meta(description="Until the step returned, waits inside it included.")]
    wait_mean_ms: A[Figure, Meta(description="For which the host then waited for the device.")]
    sample: A[Text, Meta(description="What a sample is: sample, image, embedding, request, or audio-s.")]
    samples_per_s: A[Figure, Meta(description="Samples over time, as totals over totals.")]
    samples_per_s_low: A[Figure, Meta(description="95% interval of it, by the mean steps of the rounds.")]
    samples_per_s_high: Figure
    tokens_per_s: A[Figure, Meta(description="Real tokens, by the attention mask.")]
    padded_tokens_per_s: A[Figure, Meta(description="Tokens with the padding.")]
    new_tokens_per_s: A[Figure, Meta(description="Generated tokens over the time of whole steps.")]
    time_to_first_token_p50_ms: Figure
    time_to_first_token_p90_ms: A[Figure, Meta(description="Over all requests, of task serve-batch.")]
    time_to_first_token_p99_ms: Figure
    time_per_output_token_p50_ms: Figure
    time_per_output_token_p90_ms: A[Figure, Meta(description="Over all tokens, of task serve-batch.")]
    time_per_output_token_p99_ms: Figure
    request_p50_ms: A[Figure, Meta(description="From the submission of a request to its last token.")]
    request_p90_ms: Figure
    request_p99_ms: Figure
    loss: A[Figure, Meta(description="Of the last measured training step.")]
    first_step_ms: A[Figure, Meta(description="The worker's very first, warm-up included.")]
    cold_cost_ms: A[
        Figure, Meta(description="First step and warm-up steps with compiling, beyond steady ones.")
    ]
    peak_allocated_mb: A[Figure, Meta(description="By tensors, in the framework's allocator on the device.")]
    peak_reserved_mb: A[Figure, Meta(description="Reserved by that allocator, its cache included.")]
    peak_device_mb: A[Figure, Meta(description="Used on the device by the process, as the driver sees it.")]
    peak_rss_mb: A[Figure, Meta(description="Resident memory of the worker alone.")]
    peak_memory_low_mb: A[Figure, Meta(description="Lowest of the rounds' peaks: device, or RSS on a CPU.")]
    kv_cache_mb: A[
        Figure, Meta(description="Keys and values after generating a batch; the full size of a static cache.")
    ]
    energy_j: A[Figure, Meta(description="Of the device over the measured window.")]
    mean_power_w: Figure
    energy_per_sample_j: Figure
    energy_per_sample_low_j: A[Figure, Meta(description="95% interval over the rounds, from three on.")]
    energy_per_sample_high_j: Figure
    energy_source: A[Text, Meta(description="counter, sampled power or averaged power.")]
    energy_absent: A[Text, Meta(description="Why there is no energy.")]
    user_ms: A[Figure, Meta(description="Mean CPU time of a step in user mode; of imported cases only.")]
    system_ms: A[Figure, Meta(description="Mean CPU time of a step in the kernel, likewise.")]
    others_cpu_percent: A[Figure, Meta(description="Processors used by others in the worst round; 100 is one.")]
    sm_clock_mhz: A[Figure, Meta(description="Mean clock of the GPU.")]
    memory_clock_mhz: A[Figure, Meta(description="Mean clock of the GPU's memory.")]
    processor_mhz: A[Figure, Meta(description="Mean clock of the busy processors.")]
    temperature_c: A[Figure, Meta(description="The GPU's highest.")]
    sm_active_percent: A[Figure, Meta(description="Mean of SMs with work; this and the next by GPM counters.")]
    sm_occupancy_percent: A[Figure, Meta(description="Active warps, of the most that the SMs hold.")]
    tensor_active_percent: A[Figure, Meta(description="Time in which the tensor cores computed.")]
    dram_active_percent: A[Figure, Meta(description="Bandwidth of the GPU's memory, of its maximum.")]
    pcie_rx_mb_per_s: A[Figure, Meta(description="To the GPU over PCIe, 10**6 bytes per second.")]
    pcie_tx_mb_per_s: A[Figure, Meta(description="From the GPU over PCIe.")]
    nvlink_rx_mb_per_s: A[Figure, Meta(description="To the GPU over all NVLinks.")]
    nvlink_tx_mb_per_s: A[Figure, Meta(description="From the GPU over all NVLinks.")]
    instructions_per_cycle: A[Figure, Meta(description="Of the worker, in user mode.")]
    memory_mb_per_s: A[Figure, Meta(description="Between all processors and their memory.")]
    reported_gpu_utilization_percent: A[
        Figure, Meta(description="Mean, as the source of an imported case sampled it.")
    ]
    reported_compile_call_s: A[
        Figure, Meta(description="Of calling torch.compile, which doesn't compile yet; of an imported case.")
    ]
    graphs: A[Amount, Meta(description="Compiled.")]
    graph_breaks: Amount
    recompiles: A[Amount, Meta(description="Graphs compiled while measuring.")]
    cuda_graphs: A[Amount, Meta(description="CUDA graphs recorded.")]
    cuda_graph_skips: A[Amount, Meta(description="Refusals to record CUDA graphs.")]
    baseline: A[Amount, Meta(description="Number of the case that this one is compared with.")]
    speedup: A[Figure, Meta(description="Samples per second at the typical step, over the baseline's.")]
    speedup_low: A[Figure, Meta(description="95% interval of the speedup; see README.")]
    speedup_high: Figure
    verdict: A[Text, Meta(description="faster, slower, same or unsure, of the speedup.")]
    verdict_doubt: A[Text, Meta(description="Why unsure: no interval, wide, steps, totals or outside.")]
    verdict_resolution_percent: A[
        Figure, Meta(description="The smallest difference that would have been seen.")
    ]
    answer: A[Text, Meta(description="identical, close, different or broken, of its output.")]
    answer_baseline: A[Amount, Meta(description="Number of the case that its output was compared with.")]
    answer_kl_mean: A[Figure, Meta(description="Mean KL(baseline || case) of the logits, in nats.")]
    answer_kl_p99: A[Figure, Meta(description="99th percentile over the positions; not below 100 of them.")]
    answer_top1_agreement: A[
        Figure, Meta(description="Share of positions with the same likeliest token or class.")
    ]
    answer_sqnr_db: A[
        Figure, Meta(description="Signal-to-noise ratio of logits, embeddings or own values, in dB.")
    ]
    answer_largest_difference: A[Figure, Meta(description="Largest absolute difference of two values.")]
    answer_cosine: A[
        Figure, Meta(description="Cosine similarity of own values; of embeddings, its mean over the texts.")
    ]
    answer_equal_tokens: A[Figure, Meta(description="Share of generated tokens that are equal.")]
    answer_first_difference: A[Amount, Meta(description="First new token or training step that differs.")]
    answer_loss_difference: A[Figure, Meta(description="Largest relative difference of a loss.")]
    answer_digest: A[Text, Meta(description="Equal for equal bits of the output, also between sessions.")]
    answer_absent: A[Text, Meta(description="Why it has no answer, or why that wasn't compared.")]
