"""What explain says of a step that an H100 ran: GPT-2 in bf16, whose vocabulary has 50,257 tokens."""

import json
from pathlib import Path

import pytest

from benchtui.sessions.explain.cases import ExplainedCase, explained_cases
from benchtui.sessions.explain.findings import findings
from benchtui.sessions.explain.tables import kernels_table
from benchtui.sessions.state.session import Session

RECORDED = Path(__file__).parents[2] / "fixtures" / "recorded" / "gpu" / "kernels.json"


@pytest.fixture(scope="module")
def case() -> ExplainedCase:
    return explained_cases(Session.load(RECORDED))[0]


def test_the_product_with_an_odd_vocabulary_comes_first(case: ExplainedCase) -> None:
    first = findings(case)[0]
    assert (first.rule, first.confidence) == ("unaligned product", "high")
    assert (
        "6144x768 BFloat16, 768x50257 BFloat16 takes 24% of the step (4.94 ms) at 96.0 TFLOP/s"
        in first.sentence
    )
    assert "50,257 isn't a multiple of 8. Pad it to 50,304" in first.sentence
    assert first.bound_s == pytest.approx(0.00285, abs=0.0001)


def test_the_host_can_save_no_more_than_the_gpu_idles_without_the_profiler(case: ExplainedCase) -> None:
    """The profiled step takes 20.2 ms, the measured one 13.4; the GPU is busy for 10.4 ms of either."""
    idle = next(finding for finding in findings(case) if finding.rule == "idle GPU")
    assert idle.bound_s is not None and case.measured_ms is not None and case.profile.busy_ms is not None
    assert 1000 * idle.bound_s == pytest.approx(case.measured_ms - case.profile.busy_ms, abs=0.01)
    assert "For 23% of the step (3.04 ms)" in idle.sentence and "at most 3.04 ms of 13.4 ms" in idle.sentence


def test_kernels_are_called_by_names_that_people_can_read(case: ExplainedCase) -> None:
    shown = kernels_table(case)
    assert shown is not None
    names = [row[0] for row in shown.rows]
    assert names[0] == "aten::mm, cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1"
    assert names[1] == "aten::mul, vectorized_elementwise_kernel"
    assert names[2] == "nvjet_sm90_tst_192x192_64x3_2x1_v_bz_coopB_bias_NNN"
    assert all(len(kernel.title) <= 112 for kernel in case.profile.kernels)
    titles = {kernel.title for kernel in case.profile.kernels}
    assert {"Memset (Device)", "Memcpy HtoD (Pageable -> Device)"} <= titles
    names = [kernel["name"] for kernel in _json_kernels()]
    assert max(map(len, names)) > 300, "the file keeps them whole"


def _json_kernels() -> list[dict[str, str]]:
    explained = next(event for event in json.loads(RECORDED.read_text()) if event["event"] == "explained")
    kernels: list[dict[str, str]] = explained["profile"]["kernels"]
    return kernels
