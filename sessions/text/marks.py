"""Marks of cases in words: what they mean, and what the user can change."""

from collections.abc import Iterable

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.file_names import CHANGED
from benchtui.sessions.stats.disturbance import BY_PROCESSES, PAGE_FAULTS, mark_kind

RANDOM_WEIGHTS = "random weights"
MEANINGS = {
    RANDOM_WEIGHTS: "the arithmetic is that of the model; its predictions are meaningless",
    "waits for the GPU": "in throughput mode such steps can't overlap; transformers reads masks and positions",
    CHANGED: "files of the step, the model or the dataset are other ones than in earlier cases, with which such"
    " cases aren't compared",
    "sample text": "the text bundled with benchtui, not a dataset",
    PAGE_FAULTS: "the allocator returns the memory of large tensors to the kernel, which maps it again in each"
    " step, as in a plain script",
}
"""Explanations of marks that aren't self-explanatory, by kind."""
_KEEP_MEMORY = (
    "To keep the memory with glibc, set MALLOC_MMAP_THRESHOLD_=1073741824 and MALLOC_TRIM_THRESHOLD_=8589934592"
    " under [env]; the preset allocators compares allocators."
)
_SPIN_LESS = (
    "OpenMP's threads wait for each other: GOMP_SPINCOUNT=0 under [env], or one thread fewer, limits the effect"
    " of other processes."
)
_BY_OTHERS = (*BY_PROCESSES, "context switches")
"""Phrases of marks about processes that compete for the worker's CPUs; older sessions have the last one."""


def remedies(case: CaseState, kinds: Iterable[str] = ()) -> tuple[str, ...]:
    """Return sentences on what may remove a case's marks, or only those of some kinds."""
    wanted = set(kinds)
    marks = [mark for mark in case.marks if not wanted or mark_kind(mark) in wanted]
    threads = (case.effective and case.effective.threads) or 1
    contended = any(phrase in mark for mark in marks for phrase in _BY_OTHERS)
    return (
        *((_KEEP_MEMORY,) if any(mark_kind(mark) == PAGE_FAULTS for mark in marks) else ()),
        *((_SPIN_LESS,) if contended and threads > 1 and case.config.device == "cpu" else ()),
    )
