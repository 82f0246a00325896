"""Rows of the catalogue about speed: step times, throughput, times of requests, and the cost of a start."""

from benchtui.sessions.metrics.quantity import (
    NO_UNIT,
    STEPS,
    CaseData,
    Quantity,
    Reading,
    amount,
    ends,
    figure,
    inverse,
    measured,
    of_requests,
    result,
    words,
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


def _percentile(name: str, meaning: str, charted: str = "") -> Quantity:
    title, reading = f"Latency, {name}", measured(f"latency_ms.{name}")
    return figure(f"latency_{name}_ms", title, meaning, reading, name, charted=charted)


LATENCY = (
    figure(
        "latency_mean_ms",
        "Latency, mean",
        "Mean time of a whole step, including tokenizing.",
        measured("latency_ms.known_mean"),
        "Mean",
    ),
    figure(
        "latency_p50_ms",
        "Latency, p50",
        "Median time of a step.",
        measured("latency_ms.median"),
        "p50",
        interval=("latency_interval_low_ms", "latency_interval_high_ms"),
    ),
    figure(
        "latency_typical_ms",
        "Typical step",
        "Geometric mean of the rounds' medians; speedups are based on it.",
        result("typical_ms"),
        "Step",
        interval=("latency_typical_low_ms", "latency_typical_high_ms"),
        charted="typical step",
    ),
    *ends(
        "latency_typical_{}_ms",
        "Typical step",
        "Lower end of the typical step's 95% interval, which holds fresh processes of the case in another"
        " session; null if nothing bounds it.",
        lambda end: result(f"typical_bounds.{end}"),
    ),
    figure(
        "latency_typical_percent",
        "± 95% interval of the typical step",
        "Half-width of that interval, relative to the typical step.",
        result("typical_bounds.half_width_percent"),
        "± 95%",
        format="half width",
        better="lower",
    ),
    _percentile("p90", "90th percentile of the step times, from 20 steps on."),
    _percentile("p95", "95th percentile, from 40 steps on."),
    _percentile("p99", "99th percentile, from 100 steps on.", "latency p99"),
    figure(
        "latency_std_ms",
        "Latency, standard deviation",
        "Sample standard deviation of the step times (n - 1).",
        measured("latency_ms.std"),
        "Std",
    ),
    figure("latency_least_ms", "Fastest step", "Time of the fastest step.", measured("latency_ms.least")),
    figure("latency_most_ms", "Slowest step", "Time of the slowest step.", measured("latency_ms.most")),
    *ends(
        "latency_interval_{}_ms",
        "Latency, p50",
        "Lower end of the median's 95% confidence interval.",
        lambda end: measured(f"latency_ms.{end}"),
    ),
    figure(
        "latency_interval_percent",
        "± 95% interval",
        "Half-width of that interval, relative to the median.",
        measured("latency_ms.interval_percent"),
        "± 95%",
        format="half width",
        better="lower",
    ),
    figure(
        "p90_over_p50_percent",
        "Slow steps, p90 over p50",
        "Time by which p90 exceeds p50, in percent of p50; by it, steadiness is compared.",
        measured("latency_ms.tail_percent"),
        "p90 over p50",
        format="percent",
        better="lower",
    ),
    figure(
        "jitter_percent",
        "Jitter",
        "Standard deviation relative to the mean.",
        measured("latency_ms.jitter_percent"),
        better="lower",
    ),
    figure(
        "latency_p99_over_p50",
        "p99 over p50",
        "99th percentile of the step times relative to the median.",
        Reading(STEPS, _tail),
        better="lower",
        exported=False,
    ),
    figure(
        "between_rounds_percent",
        "Between rounds",
        "Range of the rounds' medians, relative to the median.",
        measured("between_rounds_percent"),
        better="lower",
    ),
    amount(
        "outliers", "Outliers", "Number of outlying steps; they stay in all metrics.", Reading(STEPS, _outliers)
    ),
    figure(
        "device_p50_ms",
        "Device, p50",
        "Median time between device events around the step.",
        measured("device_ms.median", "steps.device_ms"),
    ),
    figure(
        "host_p50_ms",
        "Host, p50",
        "Median time until the step's call returned, including waits inside it.",
        measured("host_ms.median", "steps.host_ms"),
    ),
    figure(
        "wait_mean_ms",
        "Wait for the device, mean",
        "Mean time that the host then waited for the device.",
        measured("wait_mean_ms", "steps.host_ms"),
        "Wait",
    ),
)
THROUGHPUT = (
    words(
        "sample",
        "Unit of a sample",
        "Unit of a sample: sample, image, embedding, request, or audio-s.",
        measured("task.one_sample", "case_prepared.task"),
    ),
    figure(
        "samples_per_s",
        "Throughput",
        "Throughput: all samples over the time of all steps.",
        measured("samples_per_s"),
        "Samples/s",
        interval=("samples_per_s_low", "samples_per_s_high"),
        charted="samples/s",
    ),
    *ends(
        "samples_per_s_{}",
        "Throughput",
        "Lower end of its 95% interval, which holds fresh processes of the case in another session.",
        lambda end: measured(f"samples_per_s_{end}"),
    ),
    figure(
        "tokens_per_s",
        "Tokens/s",
        "Tokens per second without padding, counted by the attention mask.",
        measured("tokens_per_s", "steps.tokens"),
        charted="tokens/s",
    ),
    figure(
        "padded_tokens_per_s",
        "Tokens/s with padding",
        "Tokens per second with padding.",
        measured("padded_tokens_per_s", "steps.padded_tokens"),
        unit=NO_UNIT,
        better="higher",
    ),
    figure(
        "new_tokens_per_s",
        "New tokens/s",
        "Generated tokens over the time of whole steps.",
        measured("new_tokens_per_s"),
        tasks=GENERATES,
        charted="new tokens/s",
    ),
    figure(
        "prompt_tokens_per_s",
        "Prompt tokens/s",
        "Tokens of the prompts, without padding, over the time of the prefills.",
        measured("prompt_tokens_per_s", "steps.tokens"),
        tasks=("generate",),
        exported=False,
    ),
    figure(
        "time_per_sample_ms",
        "Time per sample",
        "Time of all steps over all samples.",
        inverse(measured("samples_per_s"), 1000),
        exported=False,
    ),
    figure(
        "real_time_factor",
        "Real-time factor",
        "Time to process a second of audio, in seconds.",
        inverse(measured("samples_per_s")),
        better="lower",
        tasks=("speech",),
        exported=False,
    ),
    figure(
        "tokens_per_sample",
        "Tokens per sample",
        "Mean number of tokens of a sample, without padding.",
        Reading("steps.tokens", _tokens_per_sample),
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
        return figure(
            f"{metric}_{percentile}_ms",
            f"{title}, {percentile}",
            meaning,
            measured(f"{metric}_ms.median", source) if middle else of_requests(f"{metric}_ms.{percentile}"),
            f"{short}, {percentile}",
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
        ("Median time to first token, of steps or (serve-batch) requests.", "the time to first token"),
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
        ("Median time from submitting a request to its last token (task serve-batch).", "that time"),
    ),
)
START = (
    figure(
        "loss",
        "Loss of the last step",
        "Loss of the last measured training step.",
        measured("loss", "steps.loss"),
        "Loss",
        format="loss",
        tasks=("lm-train",),
    ),
    figure(
        "first_step_ms",
        "First step",
        "Time of the worker's first step, which is part of the warm-up.",
        measured("first_step_ms"),
    ),
    figure(
        "cold_cost_ms",
        "Cold cost",
        "Extra time of first step and warm-up over steady steps, including compiling.",
        measured("cold_cost_ms"),
    ),
)
