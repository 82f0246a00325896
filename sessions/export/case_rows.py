"""Conversion of a session's cases to export rows."""

from typing import Any

import msgspec

from benchtui.sessions.export.case_schema import ACTUAL, CaseRow, actual_column
from benchtui.sessions.payloads import (
    GPU_ACTIVITY,
    HOST_ACTIVITY,
    AnswerComparison,
    Compiling,
    Effective,
    Energy,
    Environment,
    Memory,
    Reported,
)
from benchtui.sessions.sanitize import visible
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.case_metrics import Metrics, metrics
from benchtui.sessions.stats.distribution import Distribution
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.sweep.options import AXES, COVERED_BY_LABEL

Values = dict[str, Any]
ANSWER = (
    "kl_mean",
    "kl_p99",
    "top1_agreement",
    "sqnr_db",
    "largest_difference",
    "cosine",
    "equal_tokens",
    "first_difference",
    "loss_difference",
)
MEMORY = ("peak_allocated_mb", "peak_reserved_mb", "peak_device_mb", "peak_rss_mb", "kv_cache_mb")
REPORTED = ("gpu_utilization_percent", "compile_call_s")
COMPILING = ("graphs", "graph_breaks", "recompiles", "cuda_graphs", "cuda_graph_skips")


def rows(session: Session) -> list[tuple[CaseRow, Metrics | None]]:
    """Return a row for each case in plan order, with the metrics it is based on (None without any)."""
    results = measured(session)
    figures = {result.case.index: result for result in results}
    bases = baselines(results, session.start.sweep.measure.baseline)
    return [_row(case, figures.get(case.index), bases.get(case.config.work)) for case in session.cases]


def case_row(case: CaseState, result: Result | None = None) -> CaseRow:
    """Return the row of one case, without the baseline of its session.

    ``result`` contains the metrics of the case if they have already been computed.
    """
    if result is None and case.state == "ok" and (found := metrics(case)):
        result = Result(case, found)
    return _row(case, result, None)[0]


def _row(case: CaseState, result: Result | None, base: Result | None) -> tuple[CaseRow, Metrics | None]:
    found = result.metrics if result else metrics(case) if case.state == "ok" else None
    values = {
        **_requested_options(case),
        **_ending(case),
        **_applied_options(case.effective or Effective()),
        **_steps(case, found),
        **_latency(found.latency_ms if found else None),
        "latency_typical_ms": result.typical_ms if result else None,
        **_rates(found),
        **_resources(case),
        "peak_memory_low_mb": result.memory_range_mb[0] if result and result.memory_range_mb else None,
        **_baseline_comparison(result, base if result else None),
        **_answer(case),
    }
    return msgspec.convert({name: _clean(value) for name, value in values.items()}, CaseRow), found


def _clean(value: object) -> object:
    if isinstance(value, str):
        return visible(value)
    return tuple(visible(each) for each in value) if isinstance(value, tuple) else value


def _requested_options(case: CaseState) -> Values:
    unknown = COVERED_BY_LABEL if case.config.label else ()
    options = {name: None if name in unknown else getattr(case.config, name) for name in AXES}
    return {
        "case": case.index,
        "name": case.name,
        **options,
        "again": bool(case.config.repeat),
        "node": case.node,
    }


def _ending(case: CaseState) -> Values:
    names = ("reason", "signal", "exit_code", "stderr_line", "stop")
    ended = {name: getattr(case.finished, name, None) for name in names}
    return {"outcome": case.state, "marks": case.marks, **ended}


def _applied_options(effective: Effective) -> Values:
    return {
        "weights_dtype": effective.weights_dtype,
        "autocast_dtype": effective.autocast_dtype,
        "attention_used": effective.attention,
        "weights_mb": effective.weights_mb,
        "draft_acceptance_percent": _percent(effective.draft_acceptance),
        "compiled": effective.compiled,
        "threads_used": effective.threads,
        **{actual_column(option.name): effective.others.get(option.name) for option in ACTUAL},
    }


def _steps(case: CaseState, found: Metrics | None) -> Values:
    return {
        "samples_per_step": case.samples_per_step,
        "n": (found.latency_ms.n or None) if found else None,
        "rounds": (len(found.rounds_ms) or 1) if found else None,
        "warmup_steps": found.warmup_steps if found else None,
        "outliers": len(found.outliers) if found and case.steps_measured else None,
        "between_rounds_percent": found.between_rounds_percent if found else None,
    }


def _latency(spread: Distribution | None) -> Values:
    names = {"mean": "mean", "p50": "median", "least": "least", "most": "most", "std": "std"}
    names |= {"p90": "p90", "p95": "p95", "p99": "p99", "interval_low": "low", "interval_high": "high"}
    return {
        **{f"latency_{name}_ms": getattr(spread, field, None) for name, field in names.items()},
        "latency_interval_percent": spread.interval_percent if spread else None,
        "jitter_percent": spread.jitter_percent if spread else None,
    }


def _rates(found: Metrics | None) -> Values:
    names = (
        "samples_per_s",
        "samples_per_s_low",
        "samples_per_s_high",
        "tokens_per_s",
        "padded_tokens_per_s",
        "new_tokens_per_s",
        "loss",
        "first_step_ms",
        "cold_cost_ms",
        "wait_mean_ms",
        "mean_power_w",
        "energy_per_sample_j",
        "energy_per_sample_low_j",
        "energy_per_sample_high_j",
    )
    spreads = {
        "device_p50_ms": "device_ms",
        "host_p50_ms": "host_ms",
        "time_to_first_token_p50_ms": "time_to_first_token_ms",
        "time_per_output_token_p50_ms": "time_per_output_token_ms",
        "request_p50_ms": "request_ms",
    }
    medians = {name: getattr(getattr(found, field, None), "median", None) for name, field in spreads.items()}
    return {
        **{name: getattr(found, name, None) for name in names},
        **medians,
        **_request_tails(found),
        "sample": found.task.one_sample if found else None,
    }


def _request_tails(found: Metrics | None) -> Values:
    """Return the high percentiles of the times of requests; None for tasks that don't time them one by one."""
    fields = ("time_to_first_token", "time_per_output_token", "request")
    known = found if found and found.task.sample == "requests" else None
    return {
        f"{field}_{percentile}_ms": getattr(getattr(known, f"{field}_ms", None), percentile, None)
        for field in fields
        for percentile in ("p90", "p99")
    }


def _resources(case: CaseState) -> Values:
    finished = case.finished
    memory = (finished and finished.memory) or Memory()
    energy = (finished and finished.energy) or Energy()
    environment = (finished and finished.environment) or Environment()
    compiling: Compiling | None = finished.compiling if finished else None
    reported = (finished and finished.reported) or Reported()
    return {
        **{name: getattr(memory, name) for name in MEMORY},
        "energy_j": energy.energy_j,
        "energy_source": energy.source,
        "energy_absent": energy.absent,
        **{
            name: getattr(environment, name)
            for name in (
                "user_ms",
                "system_ms",
                "sm_clock_mhz",
                "memory_clock_mhz",
                "processor_mhz",
                "temperature_c",
                *GPU_ACTIVITY,
                *HOST_ACTIVITY,
            )
        },
        "others_cpu_percent": case.others_cpu_percent,
        **{f"reported_{name}": getattr(reported, name) for name in REPORTED},
        **{name: getattr(compiling, name, None) for name in COMPILING},
    }


def _baseline_comparison(result: Result | None, base: Result | None) -> Values:
    ratio = throughput_ratio(base, result) if base and result else None
    return {
        "baseline": base.case.index if base else None,
        "speedup": ratio.value if ratio else None,
        "speedup_low": ratio.low if ratio else None,
        "speedup_high": ratio.high if ratio else None,
        "verdict": str(ratio.verdict) if ratio else None,
        "verdict_doubt": str(ratio.doubt) if ratio and ratio.doubt else None,
        "verdict_resolution_percent": _percent(ratio.resolution) if ratio else None,
    }


def _answer(case: CaseState) -> Values:
    found = case.comparison or AnswerComparison(case=0, baseline=0)
    answer = case.answered.answer if case.answered else None
    return {
        "answer": found.verdict,
        "answer_baseline": case.comparison.baseline if case.comparison else None,
        **{f"answer_{name}": getattr(found, name) for name in ANSWER},
        "answer_digest": answer.digest if answer else None,
        "answer_absent": case.answer_absent,
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
