"""The first checks on a GPU in brief: every part ends and names its checks, whatever the numbers."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
FIRST = Path(__file__).parents[1] / "bench" / "on_gpu"
SMALL = {"PLAYED_GPU_GB": "2"}
"""Memory that a few doublings of the batch size fill."""
CHECKS = {
    1: ["steps", "memory", "nvidia-smi", "kernels", "recovery"],
    2: ["presets", "gpt2-train", "demo"],
    3: ["reference-reports", "tests"],
    4: ["clock-and-power", "peaks", "energy", "counters", "busy-time", "synchronization"],
    5: ["attention-kernels", "cuda-graphs", "backends"],
    6: ["verdicts-host-bound", "verdicts-power-capped", "batch-size-search"],
}
FILES = {
    1: ["kernels.json", "memory-lm-forward.json", "memory-lm-train.json", "recovery.json", "steps.json"],
    2: [
        "demo-gpu.json",
        "distilbert-sst2.json",
        "distilbert-sst2.md",
        "gpt2-train.json",
        "gpt2-train.md",
        "quick.json",
    ],
    3: [
        *("reference-cpu-reference-gpu.md", "reference-cpu.json", "reference-gpu.json", "reference-gpu.md"),
        *("reference-imdb.json", "reference-imdb.md"),
    ],
    4: [],
    5: ["backends.json"],
    6: [],
}
"""Files in the archive of each part, where no nvidia-smi runs."""


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
        env=os.environ | environment | (SMALL if part == 6 else {}),
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
    found = {line["check"] for line in lines if "found" in line or "absent" in line}
    assert found >= {name for name, how in ended.items() if not how}
    cut_off = any(how for how in ended.values())  # on a loaded machine, not by a difference
    differing = [line["found"] for line in lines if not line.get("agrees", True)]
    assert cut_off or not differing, "a played GPU differs in nothing that it can show"
    with tarfile.open(out / f"part-{part}-sessions.tar.gz") as packed:
        assert cut_off or packed.getnames() == FILES[part]
    summary = (out / "gpu-first.md").read_text()
    assert all(f"| {name} | {part} | " in summary for name in CHECKS[part])
    assert cut_off or "Nothing, in the checks that ran." in summary
