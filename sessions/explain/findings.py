"""Findings: sentences about the time and memory of a step, from one table of rules.

A rule takes one explained case and returns a finding, or None if it finds nothing or lacks data. To add a rule,
write a function next to those of its kind, list it here, and test it on a case with the cause.
"""

from msgspec.structs import replace

from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.finding import Confidence, Finding, Rule
from benchtui.sessions.explain.rules import host, memory, operators, python

ALWAYS: tuple[Rule, ...] = (
    operators.recompiles,
    operators.graph_breaks,
    python.diagnosing,
    host.waiting_at_times,
)
"""Rules about the program, whatever the steps took."""
PLAIN_RULES: tuple[Rule, ...] = (
    host.page_faults,
    host.reading,
    host.system_calls,
    *ALWAYS,
    python.collecting,
    python.items,
    python.many_operators,
    host.other_threads,
    memory.growing,
    memory.activations,
    memory.optimizer_state,
    memory.weights,
    memory.kv_cache,
)
"""Rules that need no time of a profiled step, so that a profiler that lengthens steps doesn't matter."""
RULES: tuple[Rule, ...] = (
    host.input_data,
    *PLAIN_RULES,
    host.waiting,
    operators.idle_gpu,
    python.native_code,
    python.python_gaps,
    operators.tokenizing,
    host.too_many_threads,
    operators.double_precision,
    operators.denormals,
    operators.strided,
    operators.unaligned,
    operators.gathering,
    operators.copying,
    operators.recomputing,
    operators.one_operator,
    host.few_threads,
    operators.slow_attention,
    operators.unfused,
    operators.optimizing,
    operators.near_peak,
    operators.far_from_peak,
    host.preempted,
)
"""All rules. Of two findings of equal weight, the one that stands first here comes first."""
_WEIGHTS: dict[Confidence, float] = {"high": 1.0, "medium": 0.8, "low": 0.3}
_REST, _REST_WEIGHT = ("Python gaps", "native code"), 0.5
"""Rules about time that no other rule explains, and their weight against those with evidence of their own."""
_WITH_FAULTS = ("optimizer", "gather", "one operator", "unfused attention")
"""Rules about operators whose time includes the page faults of their outputs."""
_OF_TORCH = (python.many_operators, operators.idle_gpu, operators.unfused, operators.slow_attention)
"""Rules whose remedies change how torch runs its operators, which a backend doesn't."""
_NO_CAUSE = ("near the peak", "preempted")
"""Rules about the limits and the state of the machine, which come after those about the step."""


def findings(case: ExplainedCase) -> tuple[Finding, ...]:
    """Return the findings of all rules, those about the most time first, those not about time last.

    A hint weighs less than what was measured. Only rules of ``ALWAYS`` apply if the profile doesn't describe
    the measured step, and those of ``PLAIN_RULES`` if merely the profiler lengthened it.
    """
    rules = ALWAYS if case.differs else PLAIN_RULES if case.lengthened else RULES
    if case.case.config.backend not in ("torch", ""):
        rules = tuple(rule for rule in rules if rule not in _OF_TORCH)
    unsorted = [_with_confidence(case, finding) for rule in rules if (finding := rule(case))]
    ordered = sorted(unsorted, key=_weight, reverse=True)
    return tuple(_after_their_cause(ordered))


def _after_their_cause(ordered: list[Finding]) -> list[Finding]:
    """Move page faults behind findings about operators that take longer, and thus may have all of them."""
    place = next((place for place, one in enumerate(ordered) if one.rule == "page faults"), len(ordered))
    causes = [
        later
        for later, finding in enumerate(ordered)
        if later > place and finding.rule in _WITH_FAULTS and (finding.ms or 0.0) >= (ordered[place].ms or 0.0)
    ]
    if causes:
        ordered.insert(causes[-1], ordered.pop(place))
    return ordered


def _with_confidence(case: ExplainedCase, finding: Finding) -> Finding:
    """Lower a high confidence next to a neighbor, which lengthens some kinds of work more than others."""
    lowered = case.delayed and finding.confidence == "high"
    return replace(finding, confidence="medium") if lowered else finding


def _weight(finding: Finding) -> tuple[bool, bool, float]:
    weight = _REST_WEIGHT if finding.rule in _REST else _WEIGHTS[finding.confidence]
    return finding.rule not in _NO_CAUSE, finding.ms is not None, (finding.ms or 0.0) * weight
