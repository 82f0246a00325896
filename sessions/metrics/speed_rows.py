"""Rows of the catalogue about speed: step times, throughput, times of requests, and the cost of a start."""

from benchtui.sessions.metrics.quantity import NO_UNIT, CaseData, Quantity, amount, words
from benchtui.sessions.metrics.readings import (
    STEPS,
    computed,
    inverse,
    latency,
    measured,
    of_requests,
    result,
    spread,
)

SERVES = ("serve-batch", "serve")
GENERATES = ("generate", *SERVES)
TAILS = (("p90", "90th"), ("p99", "99th"))


def _tokens_per_sample(data: CaseData) -> float | None:
    tokens, samples = (data.metrics.tokens_per_s, data.metrics.samples_per_s) if data.metrics else (None, None)
    return tokens / samples if tokens and samples else None


def _tail(data: CaseData) -> float | None:
    latency = data.metrics.latency_ms if data.metrics else None
    return latency.p99 / latency.median if latency and latency.p99 and latency.median else None


def _outliers(data: CaseData) -> int | None:
    return len(data.metrics.outliers) if data.metrics and data.case.steps_measured else None


LATENCY = (
    Quantity(
        "latency_mean_ms",
        "Latency, mean",
        "ms",
        "Mean time of a whole step, including tokenizing.",
        latency("mean"),
        short="Mean",
        better="lower",
    ),
    Quantity(
        "latency_p50_ms",
        "Latency, p50",
        "ms",
        "Median time of a step.",
        latency("median"),
        short="p50",
        better="lower",
        interval=("latency_interval_low_ms", "latency_interval_high_ms"),
        charted="latency p50",
    ),
    Quantity(
        "latency_typical_ms",
        "Typical step",
        "ms",
        "Geometric mean of the rounds' medians; speedups are based on it.",
        result("typical_ms"),
        short="Step",
        better="lower",
    ),
    Quantity(
        "latency_p90_ms",
        "Latency, p90",
        "ms",
        "90th percentile of the step times, from 20 steps on.",
        latency("p90"),
        short="p90",
        better="lower",
    ),
    Quantity(
        "latency_p95_ms",
        "Latency, p95",
        "ms",
        "95th percentile, from 40 steps on.",
        latency("p95"),
        short="p95",
        better="lower",
    ),
    Quantity(
        "latency_p99_ms",
        "Latency, p99",
        "ms",
        "99th percentile, from 100 steps on.",
        latency("p99"),
        short="p99",
        better="lower",
        charted="latency p99",
    ),
    Quantity(
        "latency_std_ms",
        "Latency, standard deviation",
        "ms",
        "Sample standard deviation of the step times (n - 1).",
        latency("std"),
        short="Std",
        better="lower",
    ),
    Quantity(
        "latency_least_ms", "Fastest step", "ms", "Time of the fastest step.", latency("least"), better="lower"
    ),
    Quantity(
        "latency_most_ms", "Slowest step", "ms", "Time of the slowest step.", latency("most"), better="lower"
    ),
    Quantity(
        "latency_interval_low_ms",
        "Latency, p50, lower end of the 95% interval",
        "ms",
        "Lower end of the median's 95% confidence interval.",
        latency("low"),
    ),
    Quantity(
        "latency_interval_high_ms",
        "Latency, p50, upper end of the 95% interval",
        "ms",
        "Upper end of that interval.",
        latency("high"),
    ),
    Quantity(
        "latency_interval_percent",
        "± 95% interval",
        "%",
        "Half-width of that interval, relative to the median.",
        latency("interval_percent"),
        short="± 95%",
        format="half width",
        better="lower",
    ),
    Quantity(
        "jitter_percent",
        "Jitter, std/mean",
        "%",
        "Standard deviation relative to the mean.",
        latency("jitter_percent"),
        short="Std/mean",
        format="percent",
        better="lower",
    ),
    Quantity(
        "latency_p99_over_p50",
        "p99 over p50",
        NO_UNIT,
        "99th percentile of the step times relative to the median.",
        computed(STEPS, _tail),
        better="lower",
        exported=False,
    ),
    Quantity(
        "between_rounds_percent",
        "Between rounds",
        "%",
        "Range of the rounds' medians, relative to the median.",
        measured("between_rounds_percent"),
        format="percent",
        better="lower",
    ),
    amount(
        "outliers",
        "Outliers",
        "Number of outlying steps; they stay in all metrics.",
        computed(STEPS, _outliers),
    ),
    Quantity(
        "device_p50_ms",
        "Device, p50",
        "ms",
        "Median time between device events around the step.",
        spread("device_ms", "median", "steps.device_ms"),
        better="lower",
    ),
    Quantity(
        "host_p50_ms",
        "Host, p50",
        "ms",
        "Median time until the step's call returned, including waits inside it.",
        spread("host_ms", "median", "steps.host_ms"),
        better="lower",
    ),
    Quantity(
        "wait_mean_ms",
        "Wait for the device, mean",
        "ms",
        "Mean time that the host then waited for the device.",
        measured("wait_mean_ms", "steps.host_ms"),
        short="Wait",
    ),
)
THROUGHPUT = (
    words(
        "sample",
        "Unit of a sample",
        "Unit of a sample: sample, image, embedding, request, or audio-s.",
        computed("case_prepared.task", lambda data: data.metrics and data.metrics.task.one_sample),
    ),
    Quantity(
        "samples_per_s",
        "Throughput",
        "samples/s",
        "Throughput: all samples over the time of all steps.",
        measured("samples_per_s"),
        short="Samples/s",
        better="higher",
        interval=("samples_per_s_low", "samples_per_s_high"),
        charted="samples/s",
    ),
    Quantity(
        "samples_per_s_low",
        "Throughput, lower end of the 95% interval",
        "samples/s",
        "Lower end of its 95% interval, from the mean steps of the rounds.",
        measured("samples_per_s_low"),
    ),
    Quantity(
        "samples_per_s_high",
        "Throughput, upper end of the 95% interval",
        "samples/s",
        "Upper end of that interval.",
        measured("samples_per_s_high"),
    ),
    Quantity(
        "tokens_per_s",
        "Real tokens/s",
        "tokens/s",
        "Tokens per second without padding, counted by the attention mask.",
        measured("tokens_per_s", "steps.tokens"),
        short="Tokens/s",
        better="higher",
        charted="tokens/s",
    ),
    Quantity(
        "padded_tokens_per_s",
        "With padding",
        "tokens/s",
        "Tokens per second with padding.",
        measured("padded_tokens_per_s", "steps.padded_tokens"),
        better="higher",
    ),
    Quantity(
        "new_tokens_per_s",
        "New tokens/s",
        "tokens/s",
        "Generated tokens over the time of whole steps.",
        measured("new_tokens_per_s"),
        better="higher",
        tasks=GENERATES,
        charted="new tokens/s",
    ),
    Quantity(
        "prompt_tokens_per_s",
        "Prompt tokens/s",
        "tokens/s",
        "Tokens of the prompts, without padding, over the time of the prefills.",
        measured("prompt_tokens_per_s", "steps.tokens"),
        better="higher",
        tasks=("generate",),
        exported=False,
    ),
    Quantity(
        "time_per_sample_ms",
        "Time per sample",
        "ms",
        "Time of all steps over all samples.",
        inverse(measured("samples_per_s"), 1000),
        better="lower",
        exported=False,
    ),
    Quantity(
        "real_time_factor",
        "Real-time factor",
        NO_UNIT,
        "Time to process a second of audio, in seconds.",
        inverse(measured("samples_per_s")),
        better="lower",
        tasks=("speech",),
        exported=False,
    ),
    Quantity(
        "tokens_per_sample",
        "Tokens per sample",
        NO_UNIT,
        "Mean number of tokens of a sample, without padding.",
        computed("steps.tokens", _tokens_per_sample),
        exported=False,
    ),
)


def _request_time(
    metric: str, title: str, short: str, source: str, meanings: tuple[str, str]
) -> tuple[Quantity, ...]:
    """Return the median of a time, and p90 and p99, which need times of single requests."""
    median, of_tail = meanings

    def row(percentile: str, meaning: str) -> Quantity:
        middle = percentile == "p50"
        return Quantity(
            f"{metric}_{percentile}_ms",
            f"{title}, {percentile}",
            "ms",
            meaning,
            spread(f"{metric}_ms", "median", source) if middle else of_requests(f"{metric}_ms", percentile),
            short=f"{short}, {percentile}",
            better="lower",
            tasks=GENERATES if middle and metric != "request" else SERVES,
            charted=title.lower() if middle else "",
        )

    tails = (row(percentile, f"{number} percentile of {of_tail}.") for percentile, number in TAILS)
    return (row("p50", median), *tails)


REQUESTS = (
    *_request_time(
        "time_to_first_token",
        "Time to first token",
        "First token",
        "steps.parts_ms",
        (
            "Median time to first token, of steps or (serve-batch) requests.",
            "the time to first token",
        ),
    ),
    *_request_time(
        "time_per_output_token",
        "Time per output token",
        "Between tokens",
        "steps.parts_ms",
        (
            "Median time per output token after the first, of steps or (serve-batch) tokens.",
            "the time per output token",
        ),
    ),
    *_request_time(
        "request",
        "Time of a request",
        "Request",
        "steps.requests",
        (
            "Median time from submitting a request to its last token (task serve-batch).",
            "that time",
        ),
    ),
)
START = (
    Quantity(
        "loss",
        "Loss of the last step",
        NO_UNIT,
        "Loss of the last measured training step.",
        measured("loss", "steps.loss"),
        short="Loss",
        format="loss",
        tasks=("lm-train",),
    ),
    Quantity(
        "first_step_ms",
        "First step",
        "ms",
        "Time of the worker's first step, which is part of the warm-up.",
        measured("first_step_ms"),
        better="lower",
    ),
    Quantity(
        "cold_cost_ms",
        "Cold cost",
        "ms",
        "Extra time of first step and warm-up over steady steps, including compiling.",
        measured("cold_cost_ms"),
        better="lower",
    ),
)
