"""Views: the quantities of each table, in its order, and the titles that differ there from the catalogue.

The name of a column of the table's own may be any other. Quantities of a view's subjects join it by themselves.
"""

from collections.abc import Callable, Container, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from benchtui.sessions.metrics.catalogue import BY_KEY, CATALOGUE
from benchtui.sessions.metrics.quantity import NO_UNIT, CaseData, Quantity, Reading, measured
from benchtui.sessions.sweep import Need

REST = "*"
"""Place in a layout for the quantities that join a view by their subject."""


class View(msgspec.Struct, frozen=True):
    """Layout of a table: quantities by key, and the table's own columns by name."""

    layout: tuple[str | Quantity, ...]
    subjects: tuple[str, ...] = ()
    """Subjects whose quantities join at ``REST`` unless the layout names them."""
    task: str = ""
    """Task whose own quantities join in the same way."""
    without: tuple[str, ...] = ()
    """Keys that would join but are left out."""

    def rows(self, own: Container[str] = ()) -> Iterator[Quantity | str]:
        """Yield the quantities in the order of the layout, and the names of the table's own columns.

        A name in ``own`` is a column of the table's own even if a quantity has it, too.
        """
        for row in self.layout:
            if row == REST:
                yield from self._joining()
            else:
                yield BY_KEY.get(row, row) if isinstance(row, str) and row not in own else row

    def leaving_out(self, *keys: str) -> "View":
        """Return the view without some quantities."""
        kept = tuple(row for row in self.layout if (row if isinstance(row, str) else row.key) not in keys)
        return replace(self, layout=kept, without=(*self.without, *keys))

    def _joining(self) -> Iterator[Quantity]:
        named = {*self.without, *(row if isinstance(row, str) else row.key for row in self.layout)}
        return (row for row in CATALOGUE if self.takes(row) and row.key not in named)

    def takes(self, row: Quantity) -> bool:
        """Return whether a quantity joins by itself unless the view leaves it out."""
        return row.subject in self.subjects or self.task in row.tasks


def shown(key: str, **changes: Any) -> Quantity:  # noqa: ANN401
    """Return a quantity with other fields than in the catalogue, such as a title for one view."""
    return replace(BY_KEY[key], **changes)


def short(*keys: str) -> tuple[Quantity, ...]:
    """Return quantities under their short titles."""
    return tuple(shown(key, title=BY_KEY[key].short) for key in keys)


def when(applies: Callable[[CaseData], bool], row: Quantity) -> Quantity:
    """Return a quantity that has a value only for some cases."""
    reading = Reading(row.reading.source, lambda data: row.read(data) if applies(data) else None)
    return replace(row, reading=reading)


def span_of(title: str, low: str, high: str) -> Quantity:
    """Return the range between two quantities of one unit."""
    ends = BY_KEY[low], BY_KEY[high]
    reading = Reading(ends[0].reading.source, lambda data: tuple(end.read(data) for end in ends))
    return replace(ends[0], key=f"{low} to {high}", title=title, reading=reading, kind=tuple, format="span")


def interval(key: str) -> Quantity:
    """Return the 95% interval of a quantity."""
    return span_of("95% interval", *BY_KEY[key].interval or ())


def _counts_all_tokens(data: CaseData) -> bool:
    """Return whether one rate covers all tokens. Generation counts prompt and new tokens separately."""
    return data.metrics is not None and data.metrics.new_tokens_per_s is None


def _rounds_differ(data: CaseData) -> bool:
    peaks = data.result.memory_range_mb if data.result else None
    return peaks is not None and peaks[0] < peaks[1]


def _is_named_by_another_tool(data: CaseData) -> bool:
    return bool(data.case.config.label)


def _first_token(percentile: str) -> Quantity:
    """Return a percentile over steps; exports have it only for single requests."""
    reading = measured(f"time_to_first_token_ms.{percentile}", "steps.parts_ms")
    return shown(f"time_to_first_token_{percentile}_ms", title=percentile, reading=reading)


PERFORMANCE = View(
    (
        "name",
        "n",
        "latency_mean_ms",
        *short("latency_p50_ms"),
        "latency_interval_percent",
        *short("latency_p90_ms", "latency_p99_ms", "latency_std_ms"),
        "jitter_percent",
        "latency_p99_over_p50",
        span_of("Range", "latency_least_ms", "latency_most_ms"),
        "between_rounds_percent",
        shown("outliers", format="nonzero"),
        "samples_per_s",
        interval("samples_per_s"),
        when(_counts_all_tokens, BY_KEY["tokens_per_s"]),
        when(_counts_all_tokens, BY_KEY["padded_tokens_per_s"]),
        "new_tokens_per_s",
    )
)
EVERY_CASE = View(
    (
        "number",
        "name",
        "node",
        "ended",
        "steps",
        "reason",
        "signal",
        "exit_code",
        "stderr_line",
        "stop",
        shown("outliers", format="nonzero"),
        "others_cpu_percent",
        "sm_clock_least_mhz",
        "clock_limits",
        "memory_clock_mhz",
        shown("performance_states", kind=tuple),
        "processor_mhz",
        "temperature_c",
        shown("repeated", format="nonzero"),
        "graphs",
        *(
            shown(key, format="nonzero")
            for key in ("graph_breaks", "recompiles", "cuda_graphs", "cuda_graph_skips")
        ),
        *(shown(key, format="nonzero") for key in ("nvlink_rx_mb_per_s", "nvlink_tx_mb_per_s")),
        REST,
        "own marks",
    ),
    subjects=("machine", "imported", "counters"),
    without=("user_ms", "system_ms", "sm_clock_mhz"),
)
RESULTS = View(
    (
        "options",
        "n",
        "middle",
        *short("latency_typical_percent", "latency_p99_ms"),
        "time_per_sample_ms",
        "headline",
        *short("samples_per_s"),
        when(_is_named_by_another_tool, BY_KEY["user_ms"]),
        when(_is_named_by_another_tool, BY_KEY["system_ms"]),
        "peak",
        "mean_power_w",
        *short("energy_per_sample_j"),
        "limits",
        "own marks",
    )
)
RANKED = View(
    (
        "label",
        "rank",
        "headline",
        "samples_per_s",
        interval("samples_per_s"),
        "against the baseline",
        "latency_typical_ms",
        "peak_memory_mb",
        "memory against the baseline",
        "tokens_per_gib",
        "cost",
    )
)
MEMORY = View(
    (
        "name",
        "peak_memory_mb",
        when(_rounds_differ, shown("peak_memory_low_mb", title="Lowest round")),
        "where",
        "peak_rss_mb",
        "peak_allocated_mb",
        "peak_reserved_mb",
        "peak_device_mb",
        "memory_per_sample_mb",
        "further sample",
        REST,
    ),
    subjects=("memory",),
    without=("kv_cache_mb", "device_memory_mb"),
)
ENERGY = View(
    (
        "name",
        "mean_power_w",
        "energy_per_sample_j",
        interval("energy_per_sample_j"),
        "samples_per_j",
        "energy_per_1000_tokens_j",
        *short("energy_j"),
        "energy_source",
        REST,
    ),
    subjects=("energy",),
    without=("energy_per_sample_low_j", "energy_per_sample_high_j", "energy_absent"),
)
ANSWERS = View(
    (
        "label",
        "speedup over the baseline",
        "verdict on the answer",
        "answer_kl_mean",
        "answer_kl_p99",
        shown("answer_top1_agreement", unit="%"),
        shown("answer_equal_tokens", unit="%"),
        "answer_first_difference",
        shown("answer_change_difference", unit="%"),
        shown("answer_gradient_difference", unit="%"),
        shown("answer_trained_share", unit="%"),
        shown("answer_loss_difference", unit="%"),
        "answer_sqnr_db",
        "answer_cosine",
        "answer_largest_difference",
        REST,
        "compared with",
        "shared with",
    ),
    subjects=("answer",),
    without=(
        "answer",
        *(f"answer_{key}" for key in ("baseline", "shared_with", "shortened", "digest", "absent")),
    ),
)
ON_CASE_PAGE = {
    "Memory, peaks while measured": View(
        ("tensors", REST),
        subjects=("memory",),
        without=(
            "peak_memory_low_mb",
            "peak_memory_mb",
            "device_memory_mb",
            "memory_per_sample_mb",
            "samples_per_gib",
            "tokens_per_gib",
        ),
    ),
    "Energy": View(
        (
            "mean_power_w",
            shown("energy_j", short="Energy"),
            shown("energy_per_sample_j", short="Per sample"),
            shown("energy_source", short="Source"),
            REST,
            shown("energy_absent", short="Not measured"),
        ),
        subjects=("energy",),
        without=(
            "energy_per_sample_low_j",
            "energy_per_sample_high_j",
            "samples_per_j",
            "energy_per_1000_tokens_j",
        ),
    ),
    "Environment": View(
        (
            "worker_cpu_percent",
            shown("user_ms", short="User time of a step"),
            shown("system_ms", short="System time of a step"),
            "quota",
            "clock",
            REST,
        ),
        subjects=("process", "machine", "counters"),
        without=("sm_clock_mhz", "sm_clock_least_mhz", "repeated"),
    ),
    "Compiler": View(
        (REST, "recorded", "unsteady"), subjects=("compiler",), without=("cuda_graphs", "cuda_graph_skips")
    ),
}
"""Conditions on the page of a case, by their headings."""
COMPARED_SHORT = View(
    ("names", shown("latency_typical_ms", title="ms"), "ratio", *short("samples_per_s"), "answer", "notes")
)
COMPARED = View(
    (
        "names",
        "ratio",
        *short("latency_typical_ms"),
        "ratio of steps",
        "token rates",
        *short("samples_per_s"),
        "answer",
        *short("latency_p99_ms"),
        "n",
        *short("peak_rss_mb"),
        "device_memory_mb",
        "mean_power_w",
        *short("energy_per_sample_j"),
        "notes",
    )
)
COMPARED_ON_SCREEN = View(
    (
        *short("latency_typical_ms"),
        "interval",
        "samples_per_s",
        shown("peak_memory_mb", title="Memory"),
        *short("energy_per_sample_j"),
    )
)
NOTEBOOK = View(
    (
        "name",
        *short("latency_typical_ms", "latency_typical_percent", "samples_per_s"),
        replace(interval("samples_per_s"), unit=NO_UNIT),
        "peak_memory_mb",
        "marks",
    )
)

_GENERATION = View(
    (
        "label",
        "time_to_first_token_p50_ms",
        _first_token("p90"),
        _first_token("p99"),
        "time_per_output_token_p50_ms",
        shown("prompt_tokens_per_s", title="Prompt tokens/s (prefill)", unit=NO_UNIT),
        "kv_cache_mb",
        "draft_acceptance_percent",
        REST,
    ),
    task="generate",
    without=("new_tokens_per_s",),
)
_SERVING = View(
    (
        "label",
        *short(
            "time_to_first_token_p50_ms",
            "time_to_first_token_p90_ms",
            "time_to_first_token_p99_ms",
            "time_per_output_token_p50_ms",
            "time_per_output_token_p90_ms",
            "time_per_output_token_p99_ms",
            "request_p50_ms",
            "request_p90_ms",
            "request_p99_ms",
            "samples_per_s",
        ),
        "new_tokens_per_s",
        shown("tokens_per_s", title="Prompt and new tokens/s"),
        "kv_cache_mb",
        REST,
    ),
    task="serve-batch",
)
TASKS = {
    "generate": _GENERATION,
    "serve-batch": _SERVING,
    "serve": _SERVING,
    "embed": View(
        (
            "label",
            shown("tokens_per_sample", title="Tokens per text"),
            shown("pooling_used", title="Pooling"),
            REST,
        ),
        task="embed",
    ),
    "image": View(
        ("label", *short("samples_per_s"), "time_per_sample_ms", "parts", "shape", "processor", REST),
        task="image",
    ),
    "speech": View(
        (
            "label",
            *short("samples_per_s"),
            "real_time_factor",
            "parts",
            shown("tokens_per_s", title="New tokens/s"),
            "shape",
            REST,
        ),
        task="speech",
    ),
    "lm-train": View(
        (
            "label",
            "all steps",
            "loss_halves",
            "last loss",
            "trend",
            shown("peak_allocated_mb", title="Memory, allocated"),
            shown("peak_reserved_mb", title="Reserved"),
            REST,
        ),
        task="lm-train",
        without=("loss",),
    ),
}
"""Table of each task that has one."""
COMPARED_BY: dict[Need, str] = {
    "throughput": "samples_per_s",
    "latency": "latency_typical_ms",
    "energy": "energy_per_sample_j",
    "memory": "peak_memory_mb",
    "steadiness": "p90_over_p50_percent",
}
"""Quantity that a need is about."""
IN_CASE_TABLE = (*COMPARED_BY.values(), "latency_p99_ms", "tokens_per_s")
"""Quantities whose columns of the case table change while a case is measured."""
