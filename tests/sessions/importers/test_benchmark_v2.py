"""Results of transformers' benchmark_v2, in the form that its code writes.

No recorded file could be had; the code is ``benchmark_v2/framework`` at commit 93d634e.
"""

import json
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.importers.registry import detect

CONFIG: dict[str, Any] = {
    "name": "w5_i3-monitored-b2_s128_n5-sdpa_math-compiled_default-unkernelized-generate",
    "warmup_iterations": 5,
    "measurement_iterations": 3,
    "gpu_monitoring": True,
    "continuous_batching": False,
    "batch_size": 2,
    "sequence_length": 128,
    "num_tokens_to_generate": 5,
    "attn_implementation": "sdpa",
    "sdpa_backend": "math",
    "compile_mode": "default",
    "compile_options": {},
    "kernelize": False,
}
RESULT: dict[str, Any] = {
    "metadata": {
        "model_id": "some/model",
        "timestamp": "2026-01-15T14:30:22+00:00",
        "branch_name": "main",
        "commit_id": "abc123",
        "commit_message": "",
        "hardware_info": {
            "gpu_name": "Some GPU",
            "gpu_memory_total_gb": 22.0,
            "python_version": "3.12.3",
            "torch_version": "2.9.0",
        },
        "success": True,
    },
    "measurements": {
        "e2e_latency": [0.5, 0.52, 0.48],
        "time_to_first_token": [0.1, 0.11, 0.09],
        "inter_token_latency": [0.08, 0.081, 0.079],
        "shape_and_decoded_outputs": ["(2, 5) | some words"] * 3,
        "gpu_metrics": None,
        "timestamps": None,
    },
    "config": CONFIG,
}


def changed(**config: Any) -> dict[str, Any]:
    return RESULT | {"config": CONFIG | config}


def test_generations_and_their_parts_are_those_of_the_file(imported: Any, tmp_path: Any) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"5ae0": RESULT}), "utf-8")
    assert detect(tmp_path / "r.json") == "benchmark-v2"
    session = imported(tmp_path / "r.json")
    ((row, _),) = rows(session)
    (case,) = session.cases
    assert list(case.measured.wall_ms) == [500.0, 520.0, 480.0]
    assert (row.time_to_first_token_p50_ms, row.time_per_output_token_p50_ms) == pytest.approx((100.0, 80.0))
    assert row.new_tokens_per_s == pytest.approx(3 * 2 * 5 / 1.5)
    assert (row.attention, row.compile, row.batch_size, row.sequence_length) == ("sdpa-math", "default", 2, 128)
    assert (row.device, row.precision) == ("unknown", "unknown")
    assert (session.start.sweep.task, session.start.sweep.model) == ("generate", "some/model")
    assert session.runtime.torch == "2.9.0"
    assert session.start.host.gpus[0].memory_mb == pytest.approx(22 * 2**30 / 1e6)
    assert session.start.host.packages == {"commit": "abc123 of main"}
    assert session.messages[1:] == []


def test_lines_uploaded_to_the_hub_are_read_alike(imported: Any) -> None:
    eager = changed(attn_implementation="flash_attention_2", sdpa_backend=None, compile_mode=None)
    lines = [{"benchmark_config_hash": "1", **each} for each in (RESULT, eager)]
    names = [case.name for case in imported("\n".join(map(json.dumps, lines))).cases]
    assert names == [
        "compile=default attn=sdpa-math pad=longest new=5 bs=2 seq=128",
        "compile=off attn=flash pad=longest new=5 bs=2 seq=128",
    ]


def test_options_that_a_session_lacks_are_in_the_name(imported: Any) -> None:
    (case,) = imported({"5ae0": changed(kernelize=True, continuous_batching=True)}).cases
    assert "continuous_batching=on kernelize=on" in case.name


def test_configuration_without_a_generation_failed(imported: Any) -> None:
    empty = {name: [] for name in ("e2e_latency", "time_to_first_token", "inter_token_latency")}
    good, bad = imported({"1": RESULT, "2": changed(batch_size=64) | {"measurements": empty}}).cases
    assert (good.state, bad.state, bad.finished.reason) == ("ok", "failed", "no generation succeeded")


@pytest.mark.parametrize(
    ("content", "expected"),
    [({"5ae0": {"metadata": {}, "config": CONFIG}}, "looks like benchmark-v2, but lacks measurements")],
)
def test_malformed_file_is_reported_with_its_place(imported: Any, content: object, expected: str) -> None:
    with pytest.raises(BenchtuiError) as caught:
        imported(content)
    assert expected in str(caught.value)


def test_number_that_is_none_is_unknown_with_a_remark(imported: Any) -> None:
    session = imported(f"{json.dumps(RESULT)}\n{json.dumps(changed(batch_size='two'))}")
    assert len(session.cases) == 2
    remark = "config.batch_size 'two' isn't a positive whole number; imported as unknown"
    assert remark in [message.text for message in session.messages]
