from typing import Any

import pytest

from benchtui.sessions.text.marks import remedies

FAULTS = "page faults: 12,566 per step, 30% of the CPU time in the kernel"
OTHERS = "disturbed: other processes used 95% CPU"


def test_page_faults_name_the_variables_that_keep_the_memory(bench: Any) -> None:
    (remedy,) = remedies(bench.case(1, 10.0, marks=(FAULTS,)))
    assert "MALLOC_MMAP_THRESHOLD_=" in remedy and "MALLOC_TRIM_THRESHOLD_=" in remedy


@pytest.mark.parametrize(
    "mark",
    [
        OTHERS,
        f"{OTHERS}: python3 (alice)",
        "disturbed: waited for a processor for 4% of the time",
        "disturbed: 500 context switches per second",
    ],
)
@pytest.mark.parametrize(
    ("device", "threads", "offered"), [("cpu", 2, True), ("cpu", 1, False), ("cuda:0", 2, False)]
)
def test_spinning_threads_next_to_other_processes_are_offered_less_spinning(
    bench: Any, mark: str, device: str, threads: int, offered: bool
) -> None:
    case = bench.case(1, 10.0, device=device, marks=(mark,), effective=bench.effective(threads=threads))
    assert any("GOMP_SPINCOUNT=0" in remedy for remedy in remedies(case)) is offered


def test_only_remedies_of_the_wanted_kinds_are_returned(bench: Any) -> None:
    case = bench.case(1, 10.0, device="cpu", marks=(FAULTS, OTHERS), effective=bench.effective(threads=2))
    assert len(remedies(case)) == 2
    assert remedies(case, ("page faults",)) == remedies(case)[:1]
    assert remedies(case, ("disturbed",)) == remedies(case)[1:]
    assert remedies(bench.case(2, 10.0, marks=("random weights",))) == ()
