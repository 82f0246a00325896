"""Sessions recorded by the engine: the one place where checks run sweeps and read their records.

A check records its sessions before it uses the GPU itself: its own CUDA context would be another process there.
"""

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import gettempdir
from time import monotonic, sleep

from findings import Findings

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.state.case import UNFINISHED_STATES, CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.toml_reader import load_sweep

ROOT = Path(__file__).parents[3]
CLOSING_S = 30.0
GPU = "device=cuda:0"
DISTILBERT = "distilbert-base-uncased-finetuned-sst-2-english"


def sweep(preset: str, *overrides: str) -> Sweep:
    """Return a preset with overrides, as ``--set`` of the command line takes them."""
    return load_sweep(preset, overrides)


def gpt2_sweep(findings: Findings, *overrides: str, layers: int = 12) -> Sweep:
    """Return a sweep of GPT-2 with random weights on synthetic rows, and no peaks."""
    fixed = (
        "task=lm-forward",
        "dataset=synthetic",
        "weights=random",
        GPU,
        "peaks=false",
        "retries=0",
        "wait_for_quiet=off",
    )
    return sweep("quick", f"model={gpt2(findings, layers)}", *fixed, *overrides)


def gpt2(findings: Findings, layers: int = 12) -> Path:
    """Return a folder with GPT-2's configuration and so many layers; in brief, a small one."""
    small = {"n_layer": max(1, layers - 11), "n_embd": 64, "n_head": 2}
    return _changed("gpt2", f"gpt2-{layers}-layers", small if findings.brief else {"n_layer": layers})


def distilbert(findings: Findings) -> Path:
    """Return a folder with DistilBERT's configuration and tokenizer; in brief, a small one."""
    small = {"dim": 32, "hidden_dim": 64, "n_heads": 2, "n_layers": 1}
    return _changed(DISTILBERT, "distilbert", small if findings.brief else {})


def _changed(bundled: str, name: str, changes: dict[str, int]) -> Path:
    folder = Path(gettempdir()) / name
    shutil.copytree(ROOT / "sessions" / "stored_models" / "architectures" / bundled, folder, dirs_exist_ok=True)
    config = json.loads((folder / "config.json").read_text("utf-8")) | changes
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return folder


def record(findings: Findings, wanted: Sweep, limit_s: float, keep: str | None = None) -> Session:
    """Run a sweep for a limited time, and return its session. ``keep`` names the file in the part's archive."""
    path = kept(findings, keep) if keep else Path(gettempdir()) / f"{wanted.name}-{monotonic():.3f}.json"
    path.unlink(missing_ok=True)
    engine = client.start(wanted, path)
    if not _ends(engine, limit_s):
        findings.figure(f"{wanted.name} was stopped", f"after {limit_s:.0f} s")
        _stop(engine)
    return Session.load(path)


def kept(findings: Findings, name: str) -> Path:
    """Return the path of a file that goes into the part's archive."""
    return findings.kept / name


def _ends(engine: Engine, limit_s: float) -> bool:
    until_s = monotonic() + limit_s
    while engine.alive():
        if monotonic() > until_s:
            return False
        sleep(0.2)
    return True


def _stop(engine: Engine) -> None:
    try:
        engine.stop()
    except BenchtuiError:
        if engine.alive():
            raise
    if not _ends(engine, CLOSING_S):
        os.kill(engine.pid, 9)


def on_gpu(session: Session) -> list[CaseState]:
    """Return the cases on a GPU in plan order."""
    return [case for case in session.cases if case.config.device != "cpu"]


def ok(cases: Iterable[CaseState]) -> list[CaseState]:
    """Return the successful cases."""
    return [case for case in cases if case.state == "ok"]


def reasons(cases: Sequence[CaseState]) -> list[str]:
    """Return state and reason of each case that isn't ok."""
    return [
        f"{case.name}: {case.state}{f', {case.finished.reason}' if case.finished else ''}"
        for case in cases
        if case.state != "ok"
    ]


def require_all_ok(findings: Findings, cases: Sequence[CaseState]) -> list[CaseState]:
    """Note that all cases should be ok; return those that are."""
    good = ok(cases)
    late = sum(case.state in UNFINISHED_STATES for case in cases)
    cut_off = f", {late} cut off by the check's time limit" if late else ""
    findings.expect(len(good) == len(cases) > 0, f"{len(good)} of {len(cases)} cases ended ok{cut_off}")
    if others := reasons(cases):
        findings.figure("cases that did not end ok", others)
    return good
