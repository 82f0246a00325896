"""The first checks on a GPU in brief: every part ends and names its checks, whatever the numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
FIRST = Path(__file__).parents[1] / "bench" / "on_gpu"
SMALL = {"PLAYED_GPU_GB": "2"}
"""Memory that a few doublings of the batch size fill."""
CHECKS = {
    1: ["presets", "synchronization", "tests"],
    2: ["clock-and-power", "peaks", "energy", "gpt2-train"],
    3: ["attention-kernels", "cuda-graphs", "counters", "busy-time"],
    4: ["verdicts-host-bound", "verdicts-power-capped", "batch-size-search"],
}
SESSIONS = {1: ["distilbert-sst2.json", "quick.json"], 2: ["gpt2-train.json"], 3: [], 4: []}


@pytest.mark.timeout(700)
@pytest.mark.parametrize("part", CHECKS)
def test_a_part_names_every_check_and_none_breaks(
    part: int, played: bool, environment: dict[str, str], home: Path, tmp_path: Path
) -> None:
    if not played:
        pytest.skip("make gpu-first runs them at length")
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, str(FIRST / "run.py"), "--part", str(part), "--out", str(out), "--brief"],
        env=os.environ | environment | (SMALL if part == 4 else {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=680,
    )
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, f"{done.stdout}{done.stderr}"
    lines = [json.loads(line) for line in (out / f"part-{part}.jsonl").read_text().splitlines()]
    ended = {line["check"]: line["ended"] for line in lines if "ended" in line}
    assert list(ended) == CHECKS[part]
    broken = {name: how for name, how in ended.items() if how.startswith("failed")}
    assert not broken, done.stdout + json.dumps([line for line in lines if "found" not in line], indent=1)
    found = {line["check"] for line in lines if "found" in line}
    assert found >= {name for name, how in ended.items() if not how}
    cut_off = any(how for how in ended.values())
    assert cut_off or sorted(path.name for path in out.glob("*.json")) == SESSIONS[part]
    summary = (out / "gpu-first.md").read_text()
    assert all(f" {name} | {part} | " in summary for name in CHECKS[part])
