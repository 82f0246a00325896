"""The engine as its clients meet it: real processes, real signals, a real (tiny) model on CPU."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from math import isnan
from pathlib import Path

import msgspec
import psutil
import pytest
from watching import ENDLESS, PATIENCE_S, Watched, wait_gone

from benchtui.engine import client
from benchtui.engine.control import log_path, runtime_folder, socket_path
from benchtui.sessions.analysis.roofline import limit
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CaseStarted, Message, Runtime
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Config, Sweep
from benchtui.sessions.sweep.toml_reader import load_sweep


def test_sweep_runs_to_completion(start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]) -> None:
    watched = start(tiny_sweep("batch_size=1,4", "precision=fp32,tf32", "device=cpu,cuda:97"))
    session = watched.until_ended()
    assert session.finished is not None
    assert session.finished.outcome == "completed"
    assert watched.states == ["ok", "ok", "skipped", "skipped", *["skipped"] * 4]
    for case in session.cases[:2]:
        assert len(case.warmup) == 1
        assert len(case.measured) == len(case.measured.tokens) == 5
        assert set(case.measured.parts_ms) == {"tokenize", "transfer", "forward", "result"}
        assert case.marks[:2] == ("random weights", "sample text")
        assert case.finished is not None
        assert case.finished.stop == "5 steps"
        assert case.finished.memory is not None
        assert case.finished.memory.peak_rss_mb is not None
        assert case.finished.measured_s is not None
        assert case.started is not None
        assert case.started.t < case.finished.measured_s[0] < case.finished.measured_s[1] <= case.finished.t
        total_s = sum(case.measured.wall_ms) / 1000
        assert total_s <= case.finished.measured_s[1] - case.finished.measured_s[0]
    assert all(case.started is None for case in session.cases[2:])
    assert "no cuda:97 on this machine" in str(session.cases[4].finished)
    assert len(json.loads(watched.engine.path.read_text())) == len(watched.events)
    assert not log_path(watched.engine.session_id).exists()
    assert not socket_path(watched.engine.session_id).exists()


def test_second_round_measures_cases_in_reverse_order(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    watched = start(tiny_sweep("batch_size=1,2", "rounds=2", "aa=true", "iterations=12"))
    session = watched.until_ended()
    assert watched.states == ["ok", "ok", "ok"]
    assert session.cases[2].name.endswith(" again")
    started = [(event.round, event.case) for event in watched.events if isinstance(event, CaseStarted)]
    assert started == [(0, 0), (0, 1), (0, 2), (1, 2), (1, 1), (1, 0)]
    assert sum(isinstance(event, CaseFinished) for event in watched.events) == 3
    for case in session.cases:
        assert [len(each) for each in case.measured.by_round()] == [12, 12]
        assert len(case.rounds) == 1 and case.finished is not None
        first, last = case.rounds[0].measured_s, case.finished.measured_s
        assert first is not None and last is not None and first[1] < last[0]
        figures = metrics(case)
        assert figures is not None and len(figures.rounds_ms) in (0, 2), "a round beside others may not count"
        assert case.finished.environment is not None
        assert case.finished.environment.worker_cpu is not None
        assert case.finished.warmup_stop == "1 steps"
    assert "Noise floor" in markdown(session)


def test_environment_variables_reach_the_measured_process(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    """OpenMP reads its own when it is loaded, which the fork server does long before a case begins."""
    watched = start(tiny_sweep("env.OMP_NUM_THREADS=1"))
    session = watched.until_ended()
    assert watched.states == ["ok"]
    assert session.start.sweep.env == {"OMP_NUM_THREADS": "1"}
    assert session.cases[0].effective is not None
    assert session.cases[0].effective.threads == 1
    assert "OMP_NUM_THREADS" not in os.environ
    kinds = [type(event) for event in watched.events]
    texts = [event.text for event in watched.events[: kinds.index(Runtime)] if isinstance(event, Message)]
    assert "environment variables set by the sweep: OMP_NUM_THREADS" in texts


@pytest.mark.parametrize("of", ["own step", pytest.param("model", marks=pytest.mark.long)])
def test_compilation_is_counted_and_its_cost_recorded(
    start: Callable[[Sweep], Watched], own: Callable[..., Sweep], tiny_sweep: Callable[..., Sweep], of: str
) -> None:
    body = "net = torch.compile(torch.nn.ReLU())\nreturn Step(lambda: net(torch.ones(8)))"
    watched = start(own(body, "compile=default") if of == "own step" else tiny_sweep("compile=default"))
    session = watched.until_ended()
    if watched.states != ["ok"]:
        pytest.skip(f"torch.compile doesn't work here: {session.cases[0].finished}")
    case = session.cases[0]
    assert case.finished is not None and case.finished.compiling is not None
    assert case.finished.compiling.graphs >= 1
    assert case.finished.compiling.recompiles == 0
    figures = metrics(case)
    assert figures is not None and figures.latency_ms.median is not None
    assert figures.cold_cost_ms == pytest.approx(case.warmup.wall_ms[0] - figures.latency_ms.median)


def test_only_the_worker_imports_torch(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    watched = start(tiny_sweep(*ENDLESS))
    case = watched.until_steps(0)
    assert case.started is not None
    assert case.started.pid is not None

    def maps(pid: int) -> str:
        return Path(f"/proc/{pid}/maps").read_text()

    assert "libtorch" in maps(case.started.pid)
    assert "libtorch" not in maps(watched.engine.pid)
    watched.engine.stop()
    watched.until_ended()


def test_killed_worker_fails_only_its_case(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    watched = start(tiny_sweep("batch_size=1,2", *ENDLESS, "max_time=2s"))
    case = watched.until_steps(0)
    assert case.started is not None
    os.kill(case.started.pid or 0, signal.SIGKILL)
    session = watched.until_ended()
    assert watched.states == ["failed", "ok"]
    ending = session.cases[0].finished
    assert ending is not None
    assert (ending.signal, ending.reason) == ("SIGKILL", "the worker was killed by SIGKILL")
    assert len(session.cases[0].measured) > 0
    assert session.cases[1].finished is not None
    assert session.cases[1].finished.stop == "time limit of 2 s"


def test_skip_ends_a_case_and_stop_ends_the_sweep(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    watched = start(tiny_sweep("batch_size=1,2,3", *ENDLESS))
    watched.until_steps(0)
    assert client.find(watched.engine.path) == watched.engine
    assert watched.engine in client.running()
    watched.engine.skip()
    second = watched.until_steps(1)
    watched.engine.stop()
    session = watched.until_ended()
    assert watched.states == ["skipped", "interrupted", "interrupted"]
    reasons = [case.finished.reason for case in session.cases if case.finished]
    assert reasons == ["skipped by the user", "stopped by the user", "stopped by the user"]
    assert session.finished is not None
    assert session.finished.outcome == "interrupted"
    assert session.cases[2].started is None
    assert second.started is not None
    wait_gone(second.started.pid or 0)
    assert client.find(watched.engine.path) is None
    json.loads(watched.engine.path.read_text())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_sweep_and_closes_the_session(
    number: signal.Signals, start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    watched = start(tiny_sweep(*ENDLESS))
    watched.until(lambda: watched.session.started)
    os.kill(watched.engine.pid, signal.SIGHUP)  # the terminal has gone: the engine outlives it
    os.kill(watched.engine.pid, number)
    session = watched.until_ended()
    assert watched.states == ["interrupted"]
    assert session.finished is not None
    assert session.finished.reason == f"stopped by {number.name}"


def test_broken_messages_end_their_case_but_not_the_sweep(
    start: Callable[[Sweep], Watched], own: Callable[..., Sweep], tmp_path: Path
) -> None:
    """One worker dies in the middle of a message while a child has its pipe, one stops there."""
    body = f"""
def send(data):
    for pipe in pipes():
        os.write(pipe.fileno(), data)
def dies():
    child = os.fork()
    if child == 0:
        time.sleep(1000)
    open({str(tmp_path / "pid")!r}, "w").write(str(child))
    send(b'{{"event":"ste')
    os.kill(os.getpid(), signal.SIGKILL)
def stops():
    send(b'{{"event":"ste')
    time.sleep(1000)
def garbage():
    send(b"garbage\\n")
    time.sleep(1000)
return Step([dies, stops, garbage, lambda: None][case.batch_size - 1])"""
    watched = start(own(body, "batch_size=1,2,3,4"))
    watched.until(lambda: len(watched.session.cases) > 1 and watched.session.cases[1].prepared)
    time.sleep(0.5)
    watched.engine.skip()
    session = watched.until_ended()
    assert watched.states == ["failed", "skipped", "failed", "ok"]
    assert session.cases[0].finished is not None
    assert session.cases[0].finished.reason == "the worker was killed by SIGKILL"
    assert "the worker sent an invalid event" in str(session.cases[2].finished)
    wait_gone(int((tmp_path / "pid").read_text()))


def test_queue_can_be_changed_during_the_sweep(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    watched = start(tiny_sweep("batch_size=1,2,3,4", *ENDLESS, "max_time=1s"))
    engine = watched.engine
    watched.until_steps(0)
    engine.pause()
    engine.drop([1])
    engine.order([3])
    assert engine.add([Config(device="cpu", batch_size=5, sequence_length=16)]) == (4,)
    with pytest.raises(
        BenchtuiError, match="the engine rejected the command 'add': device: 'tpu' is not a device"
    ):
        engine.add([Config(device="tpu")])
    with pytest.raises(BenchtuiError, match="the engine rejected the command 'again': case 4 hasn't ended yet"):
        engine.again(3)
    watched.until(lambda: watched.session.cases[0].state == "ok")
    assert watched.session.paused and watched.session.running == []
    assert [case.index for case in watched.session.pending] == [3, 2, 4]
    assert engine.again(0) == 5
    engine.go_on()
    session = watched.until_ended()
    assert watched.states == ["ok", "skipped", "ok", "ok", "ok", "ok"]
    started = [event.case for event in watched.events if isinstance(event, CaseStarted)]
    assert started == [0, 3, 2, 4, 5]
    assert session.cases[5].name == f"{session.cases[0].name} (rerun of case 1)"
    assert session.finished is not None and session.finished.outcome == "completed"
    assert markdown(session)


def test_detached_child_ends_with_its_case(
    start: Callable[[Sweep], Watched], own: Callable[..., Sweep], tmp_path: Path
) -> None:
    told = tmp_path / "children"
    body = f"""
code = "import subprocess as s; print(s.Popen(['sleep', '600'], stdout=s.DEVNULL).pid, flush=True)"
far = subprocess.run(["setsid", "--fork", "python3", "-c", code], stdout=subprocess.PIPE, text=True)
near = subprocess.Popen(["sleep", "600"], start_new_session=True)
with open({str(told)!r}, "a") as file:
    file.write(far.stdout.strip() + " " + str(near.pid) + "\\n")
return Step(lambda: time.sleep(600 if case.batch_size > 1 else 0.01))"""
    watched = start(own(body, "batch_size=1,2", "iterations=2", "timeout=4s"))
    watched.until_ended()
    assert watched.states == ["ok", "timeout"]
    pids = [int(pid) for pid in told.read_text().split()]
    assert len(pids) == 4
    for pid in pids:
        wait_gone(pid)


ON_CPU = """
import sys
from pathlib import Path
import msgspec
from msgspec.structs import replace
from benchtui.engine.node.runner import NodeRunner
from benchtui.engine.node.worker_processes import WorkerProcesses
from benchtui.engine.supervisor.supervisor import Supervisor
from benchtui.sessions.sweep import Sweep

class Probe:
    def __init__(self, probe):
        self.probe = probe
    source = property(lambda self: self.probe.source)
    ended = property(lambda self: self.probe.ended)
    def result(self):
        return replace(self.probe.result(), cuda="12", cuda_devices=("played", "played"))

class OnCpu(WorkerProcesses):
    def query_torch(self):
        return Probe(super().query_torch())
    def start(self, job, pipes=None):
        return super().start(replace(job, config=replace(job.config, device="cpu")), pipes)

if __name__ == "__main__":
    sweep = msgspec.json.decode(sys.stdin.buffer.read(), type=Sweep)
    Supervisor("side-by-side", sweep, Path(sys.argv[1]), NodeRunner(OnCpu())).run()
"""


@pytest.mark.long
def test_cases_on_different_gpus_run_in_parallel(
    home: Path, tiny_sweep: Callable[..., Sweep], fake_nvml: Path
) -> None:
    """The driver's library and torch's answer are played, and the workers compute on the processor."""
    sweep = tiny_sweep("device=cuda:*,cpu", "parallel=true", "batch_size=1,2", *ENDLESS, "max_time=2s")
    (home / "on_cpu.py").write_text(ON_CPU)
    done = subprocess.run(
        [sys.executable, "-P", str(home / "on_cpu.py"), str(home / "s.json")],
        input=msgspec.json.encode(sweep),
        env=os.environ | {"LD_LIBRARY_PATH": str(fake_nvml), "FAKE_NVML_GPUS": "2"},
        stderr=subprocess.PIPE,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    session = Session.load(home / "s.json")
    assert session.start.sweep.axes.device == ("cuda:0", "cuda:1", "cpu")
    assert [case.state for case in session.cases] == ["ok"] * 6
    spans = [(case.started.t, case.finished.t) for case in session.cases if case.started and case.finished]
    assert spans[0][0] < spans[2][1] and spans[2][0] < spans[0][1], "the two GPUs at the same time"
    assert spans[1][0] >= spans[0][1] and spans[3][0] >= spans[2][1], "one case a GPU"
    assert spans[4][0] >= max(end for _, end in spans[:4]), "the processor alone"
    around = [
        case.finished.environment for case in session.cases if case.finished and case.finished.environment
    ]
    assert [each.beside for each in around][4:] == [0, 0]
    assert around[0].beside == around[2].beside == 1
    assert any(mark.startswith("in parallel with 1 ") for mark in session.cases[0].marks)
    assert markdown(session)


def test_killed_engine_leaves_a_readable_session_and_no_process(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    watched = start(tiny_sweep("batch_size=1,2", "max_time=1s", *ENDLESS))
    case = watched.until_steps(1)
    assert case.started is not None
    children = psutil.Process(watched.engine.pid).children(recursive=True)
    os.kill(watched.engine.pid, signal.SIGKILL)
    watched.until_ended()
    session = Session.load(watched.engine.path)
    assert session.cut_off
    assert [case.state for case in session.cases] == ["ok", "running"]
    assert len(session.cases[1].measured) > 0
    for child in children:
        wait_gone(child.pid)
    assert socket_path(watched.engine.session_id).exists()
    assert client.running() == []
    assert list(runtime_folder().iterdir()) == []


@pytest.mark.long
def test_out_of_memory_is_a_recorded_outcome(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep], tiny_model: Path, tmp_path: Path
) -> None:
    wide = tmp_path / "wide"
    wide.mkdir()
    for file in tiny_model.iterdir():
        (wide / file.name).write_bytes(file.read_bytes())
    config = json.loads((wide / "config.json").read_text()) | {"dim": 1024}
    (wide / "config.json").write_text(json.dumps(config))
    rows = int(
        psutil.virtual_memory().total * 1.5 / (512 * 1024 * 4)
    )  # one activation, 1.5 times what there is
    (tmp_path / "short.txt").write_text("a short text\n")
    options = (f"model={wide}", f"dataset={tmp_path / 'short.txt'}", "sequence_length=512")
    watched = start(tiny_sweep(f"batch_size=1,{rows},{rows + 1},2", *options))
    session = watched.until_ended()
    assert watched.states == ["ok", "oom", "skipped", "ok"], session.cases[0].finished
    assert "out of memory on cpu: " in str(session.cases[1].finished)
    assert session.cases[2].finished is not None
    assert session.cases[2].finished.reason == "larger than case 2, which ran out of memory"
    assert session.cases[2].started is None


@pytest.mark.long
def test_killed_fork_server_costs_one_case(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    watched = start(tiny_sweep("batch_size=1,2", *ENDLESS, "max_time=2s"))
    case = watched.until_steps(0)
    assert case.started is not None
    fork_server = psutil.Process(case.started.pid).parent()
    assert fork_server is not None
    fork_server.kill()
    watched.until_ended()
    assert watched.states == ["failed", "ok"]
    wait_gone(case.started.pid or 0)


@pytest.mark.long
def test_scaled_down_training_preset_runs(start: Callable[[Sweep], Watched], tiny_gpt2: Path) -> None:
    smaller = ("device=cpu", "batch_size=1,2", "sequence_length=16", "rounds=1", "warmup=1", "iterations=3")
    kinds = ("compile=off,reduce-overhead", "precision=fp32,fp16,amp-fp16")
    watched = start(load_sweep("gpt2-train", (f"model={tiny_gpt2}", "wait_for_quiet=off", *smaller, *kinds)))
    session = watched.until_ended()
    outcomes = {case.name: case.state for case in session.cases}
    assert len(outcomes) == 12
    for name, outcome in outcomes.items():
        runs = "reduce-overhead" not in name and " fp16" not in name
        assert outcome == ("ok" if runs else "skipped"), name
    for case in session.cases:
        if case.state == "ok":
            assert list(case.measured.parts_ms) == ["transfer", "forward", "backward", "optimizer"]
            assert list(case.measured.tokens) == [16 * case.config.batch_size] * 3
            assert all(0 < loss < 20 for loss in case.measured.loss)
            assert {"random weights", "synthetic tokens"} <= set(case.marks)


def test_generation_measures_prefill_and_decode_separately(
    start: Callable[[Sweep], Watched], lm_sweep: Callable[..., Sweep]
) -> None:
    options = ("task=generate", "new_tokens=4", "threads=0,1", "padding=longest")
    session = start(lm_sweep(*options)).until_ended()
    assert [case.state for case in session.cases] == ["ok", "ok"]
    assert session.cases[1].effective is not None
    assert session.cases[1].effective.threads == 1
    for case in session.cases:
        found = metrics(case)
        assert found is not None and found.time_to_first_token_ms and found.time_per_output_token_ms
        assert found.time_to_first_token_ms.n == found.time_per_output_token_ms.n == 5
        assert case.finished is not None and case.finished.memory is not None
        assert case.finished.memory.kv_cache_mb is not None


def test_custom_code_is_logged_before_it_runs(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    file = Path(__file__).parents[1] / "fixtures" / "own_step.py"
    watched = start(tiny_sweep(f"task={file}:make_step", "batch_size=3"))
    session = watched.until_ended()
    (case,) = session.cases
    assert case.state == "ok"
    assert list(case.measured.parts_ms) == ["first", "second", "rest"]
    assert list(case.measured.tokens) == [3 * 16] * 5
    kinds = [type(event) for event in watched.events]
    texts = [event.text for event in watched.events[: kinds.index(CaseStarted)] if isinstance(event, Message)]
    assert f"running custom code: function make_step in {file}" in texts


def test_missing_custom_code_is_rejected_before_anything_runs(
    home: Path, tiny_sweep: Callable[..., Sweep]
) -> None:
    with pytest.raises(
        BenchtuiError, match=r"task 'nowhere\.py:make': no file nowhere\.py in the working directory"
    ):
        client.start(tiny_sweep("task=nowhere.py:make"), home / "session.json")
    assert not (home / "session.json").exists()


def test_existing_session_file_is_rejected_and_kept(home: Path, tiny_sweep: Callable[..., Sweep]) -> None:
    path = home / "there.json"
    path.write_text("precious")
    with pytest.raises(BenchtuiError, match="already exists; sessions are never overwritten"):
        client.start(tiny_sweep(), path)
    assert path.read_text() == "precious"
    assert client.running() == []
    assert list(runtime_folder().iterdir()) == []


def test_unresponsive_engine_is_ignored(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(socket_path("dea0f0000000")))
    assert client.running() == []
    assert not socket_path("dea0f0000000").exists()


def test_gpus_are_sampled_during_a_case(
    start: Callable[[Sweep], Watched],
    tiny_sweep: Callable[..., Sweep],
    fake_nvml: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fake_nvml))
    monkeypatch.setenv("FAKE_NVML_GPUS", "2")
    watched = start(tiny_sweep(*ENDLESS, "max_time=2s"))
    session = watched.until_ended()
    assert watched.states == ["ok"]
    assert [gpu.index for gpu in session.start.host.gpus] == [0, 1]
    assert sorted(session.machine.gpus) == [0, 1]
    power = session.machine.gpus[0].columns["power_w"]
    assert len(power) >= 4
    assert all(value > 0 for value in power if not isnan(value)), "a GPU without a case is read less often"
    assert any(isinstance(event, CaseStarted) for event in watched.events)


def test_second_sweep_on_the_machine_logs_the_first(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    first, second = start(tiny_sweep(*ENDLESS)), start(tiny_sweep(*ENDLESS))
    second.until(lambda: any(message.level == "warning" for message in second.session.messages))
    (warning,) = (message for message in second.session.messages if message.level == "warning")
    assert str(first.engine.path) in warning.text
    for watched in (first, second):
        watched.engine.stop()
        watched.until_ended()
    assert all(message.level != "warning" for message in first.session.messages)


def test_peaks_are_measured_once_and_step_cost_after_each_case(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    watched = start(tiny_sweep("batch_size=1,2", "peaks=true", "rounds=2"))
    session = watched.until_ended()
    assert watched.states == ["ok", "ok"]
    (peaks,) = session.peaks
    assert (peaks.device, peaks.precision, peaks.absent) == ("cpu", "fp32", {})
    begun = [event for event in watched.events if isinstance(event, CaseStarted)]
    assert peaks.t <= begun[0].t, "no case runs while a peak is measured"
    for case in session.cases:
        known = limit(case, session.peaks)
        assert known is not None and known.shares.arithmetic is not None and known.shares.memory is not None
        assert 0 < known.shares.arithmetic < 1
    one, two = (case.finished.work for case in session.cases if case.finished)
    assert one is not None and two is not None and one.flops is not None
    assert two.flops == 2 * one.flops
    assert "## Limits" in markdown(session, full=True)


@pytest.mark.long
def test_failed_step_count_leaves_the_case_unchanged(
    start: Callable[[Sweep], Watched],
    tiny_sweep: Callable[..., Sweep],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the five measured steps one raises an error, and one takes the worker with it."""
    monkeypatch.chdir(tmp_path)
    step = "import os\n\nclass Step:\n    samples, done = 1, 0\n    def step(self):\n        self.done += 1\n"
    for name, ending in (("raises", "raise ValueError('too much')"), ("dies", "os._exit(3)")):
        last = f"        if self.done > 6:\n            {ending}\n"
        (tmp_path / f"{name}.py").write_text(f"{step}{last}def make(case):\n    return Step()\n")
    reasons = {}
    for name in ("raises", "dies"):
        session = start(tiny_sweep(f"task={name}.py:make")).until_ended()
        (case,) = session.cases
        assert case.state == "ok" and len(case.measured) == 5
        assert case.finished is not None and case.finished.work is not None
        reasons[name] = case.finished.work.absent["flops"]
    assert reasons == {
        "raises": "ValueError: too much",
        "dies": "the worker exited while the cost of a step was counted",
    }
