import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import MEASURE_DEFAULTS
from benchtui.sessions.sweep.toml_reader import load_sweep
from benchtui.tui.cli.advice.optimal import requested_sweep

Run = Callable[..., subprocess.CompletedProcess[str]]
FIXTURES = Path(__file__).parents[1] / "fixtures"
REPORT = str(FIXTURES / "comprehensive-report.json")
CSV = str(FIXTURES / "gpt2-training-results.csv")


def test_first_line_names_the_best_case(benchtui: Run) -> None:
    ran = benchtui("optimal", REPORT)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("throughput: cuda:0 fp32 compile=off bs=32 seq=128: 616 samples/s")
    reported = "REPORTED: the source kept no steps"
    assert [" ".join(line.split()) for line in (lines[1], "".join(lines[2:4]), "".join(lines[4:6]))] == [
        "confidence indistinguishable from 5 others",
        f"next best cuda:0 amp-fp16 compile=off bs=32 seq=128, 619 samples/s: 0.997 ×, {reported}",
        f"baseline cpu fp32 compile=off bs=8 seq=128, 17.8 samples/s: 34.6 ×, {reported}",
    ]


def test_unsatisfiable_constraints_exit_with_1_and_name_the_tight_one(benchtui: Run) -> None:
    ran = benchtui("optimal", REPORT, "--objective", "latency", "--max-vram", "0.5GB")
    assert ran.returncode == 1
    assert "no case found for latency" in ran.stdout
    assert "relaxing --max-vram to 746.88MB would admit cuda:0 fp32" in ran.stdout
    assert "cpu fp32 compile=off bs=8 seq=128: no VRAM: ran on the CPU" in ran.stdout
    widened = benchtui("optimal", REPORT, "--max-vram", "746.88MB")
    assert widened.returncode == 0


def test_decision_json_has_rows_and_reasons(benchtui: Run) -> None:
    ran = benchtui("optimal", REPORT, "--max-vram", "800MB", "--json")
    (found,) = json.loads(ran.stdout)["decisions"]
    assert found["best"]["batch_size"] == 16
    assert found["constraints"]["vram_mb"] == 800.0
    assert {each["case"] for each in found["left_out"]} == {0, 1, 4, 5, 6, 9}
    assert (found["verdict"], found["ahead"]["doubt"], found["clear"]) == ("REPORTED", "no interval", False)
    assert (found["best"]["precision"], found["leader"]["precision"]) == ("fp32", "amp-fp16")


def test_best_case_is_written_as_a_runnable_sweep(benchtui: Run, home: Path) -> None:
    ran = benchtui("optimal", REPORT, "--toml", "best.toml")
    assert ran.returncode == 0, ran.stderr
    sweep = load_sweep(str(home / "best.toml"))
    assert (sweep.axes.batch_size, sweep.axes.precision, sweep.axes.device) == ((32,), ("fp32",), ("cuda:0",))
    again = benchtui("optimal", REPORT, "--toml", "best.toml")
    assert (again.returncode, "already exists" in again.stderr) == (2, True)
    printed = benchtui("optimal", REPORT, "--toml", "-")
    assert printed.stdout == (home / "best.toml").read_text()
    assert printed.stderr.startswith("throughput: ")


@pytest.mark.long
def test_best_case_of_a_session_is_rerun(benchtui: Run, sweep_file: Path, home: Path) -> None:
    first = benchtui("run", str(sweep_file), "-o", "first.json")
    assert first.returncode == 0, first.stderr
    again = benchtui(
        *("run", "--optimal-from", "./first.json", "--objective", "latency"),
        *("--set", "iterations=3", "-o", "again.json"),
    )
    assert again.returncode == 0, again.stderr
    (case,) = Session.load(home / "again.json").cases
    assert (case.state, case.config.sequence_length, len(case.measured)) == ("ok", 16, 3)
    report = benchtui("export", "./again.json", "-o", "again.md")
    assert report.returncode == 0, report.stderr
    repeated = benchtui("reproduce", "again.md", "-o", "repeated.json", "--budget", "5s")
    assert repeated.stdout.split(":")[0] in ("REPRODUCED", "NOT REPRODUCED", "UNSURE"), repeated.stderr
    assert repeated.returncode == int(not repeated.stdout.startswith("REPRODUCED"))
    sweeps = [Session.load(home / name).start.sweep for name in ("again.json", "repeated.json")]
    assert sweeps[1] == replace(sweeps[0], measure=sweeps[1].measure)  # further rounds are auto


def test_imported_table_gives_the_answer_of_its_report(benchtui: Run) -> None:
    ran = benchtui("import", CSV, "-o", "gpt2.json")
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    assert "19 cases from training-csv; session gpt2.json" in ran.stderr
    assert "compile_warmup_time: 0.6994 to 0.7619 s for the call of torch.compile" in ran.stderr
    assert "not in the file: cuda amp-fp16 compile=off seq=768 at batch size 4, 5; " in ran.stderr
    fastest = benchtui("optimal", "./gpt2.json").stdout
    assert fastest.startswith(
        "throughput: cuda amp-fp16 compile=reduce-overhead bs=5 seq=768: 17.7 samples/s, "
    )
    text = " ".join(fastest.split())
    assert "cuda amp-fp16 compile=default bs=3 seq=768: 1.035 ×, REPORTED: the source kept no steps" in text
    assert ": 1.93 ×, REPORTED: the source kept no steps " in text
    assert "not verified: amp-fp16, compile=reduce-overhead" in text
    frugal = benchtui("optimal", "./gpt2.json", "--objective", "memory").stdout.splitlines()[0]
    assert frugal.startswith("memory: cuda amp-fp16 compile=default bs=3 ")
    assert "4,560 tokens/s with padding per GiB" in frugal
    assert benchtui("export", "./gpt2.json").returncode == 0


def test_source_without_rates_is_decided_by_latency(benchtui: Run) -> None:
    assert benchtui("import", str(FIXTURES / "hyperfine.json"), "-o", "h.json").returncode == 0
    assert benchtui("optimal", "./h.json").stdout.startswith("latency: ")


def test_sweep_from_a_table_without_a_dataset_is_rejected_unwritten(benchtui: Run, home: Path) -> None:
    assert benchtui("import", CSV, "-o", "gpt2.json").returncode == 0
    said = "the results imported from training-csv don't include the dataset; set it with: "
    for arguments in (
        ("optimal", "./gpt2.json", "--toml", "best.toml"),
        ("run", "--optimal-from", "./gpt2.json"),
    ):
        ran = benchtui(*arguments)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr.strip().count("\n") == 0
        assert said in ran.stderr
    assert not (home / "best.toml").exists()
    sweep = requested_sweep(None, ("dataset=sample",), str(home / "gpt2.json"), "throughput")
    assert (sweep.dataset, sweep.axes.precision) == ("sample", ("amp-fp16",))
    assert sweep.measure == MEASURE_DEFAULTS  # not the steps of the script


def test_sweep_from_lines_without_options_names_all_that_is_missing(benchtui: Run, home: Path) -> None:
    line = {"device": "cuda", "batch_size": 8, "latency_ms_mean": 1.0, "sequence_length": 128, "model": "gpt2"}
    (home / "lines.jsonl").write_text(json.dumps(line))
    assert benchtui("import", "lines.jsonl", "-o", "lines.json").returncode == 0
    settings = ("--set", "dataset=sample", "--set", "axes.compile=off")
    ran = benchtui("run", "--optimal-from", "./lines.json", *settings, "-o", "run.json")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "don't include the task, precision and padding; set it with: " in ran.stderr
    assert "--set task=… --set precision=… --set padding=…" in ran.stderr
    assert not (home / "run.json").exists()


def test_lines_of_the_runner_make_a_complete_sweep(benchtui: Run, home: Path) -> None:
    runner = str(FIXTURES / "batch-sweep-runner.jsonl")
    assert benchtui("import", runner, "-o", "runner.json").returncode == 0
    ran = benchtui("optimal", "./runner.json", "--toml", "best.toml")
    assert ran.returncode == 0, ran.stderr
    sweep = load_sweep(str(home / "best.toml"))
    assert (sweep.model, sweep.dataset, sweep.axes.batch_size) == (
        "distilbert-base-uncased-finetuned-sst-2-english",
        "glue:sst2:validation",
        (32,),
    )


def test_cases_of_another_tool_cannot_become_a_sweep(benchtui: Run, home: Path) -> None:
    source = home / "commands.json"
    source.write_text(json.dumps({"results": [{"command": "a", "mean": 1.0}, {"command": "b", "mean": 2.0}]}))
    assert benchtui("import", "commands.json", "-o", "commands-session.json").returncode == 0
    ran = benchtui("run", "--optimal-from", "./commands-session.json", "--objective", "latency")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "the cases were imported from hyperfine; benchtui can't run them" in ran.stderr


def test_job_of_unknown_cost_has_no_answer(benchtui: Run) -> None:
    ran = benchtui("optimal", REPORT, "--steps", "20")
    assert ran.returncode == 1
    assert "cold cost unknown: the source has no steps" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("optimal", "nothing"), "nothing: no such session"),
        (("optimal", REPORT, "--max-vram", "8"), "'8' is not a size such as 8GB; units: mb, gb, mib, gib"),
        (("optimal", REPORT, "--max-p99", "50 parsecs"), "is not a time such as 50ms; units: us, ms, s"),
        (("optimal", REPORT, "--max-power", "-3W"), "'-3W' is not a power such as 300W"),
        (("optimal", REPORT, "--toml", "no/where.toml"), "can't be written: No such file"),
        (("run",), "specify exactly one of SWEEP, --optimal-from SESSION and --resume"),
        (
            ("run", "quick", "--optimal-from", REPORT),
            "specify exactly one of SWEEP, --optimal-from SESSION and --resume",
        ),
        (
            ("import", CSV, "-o", "x.json", "--from", "vllm"),
            "--from: 'vllm' is not recognized (did you mean 'vllm-bench'?); allowed: aiperf, ",
        ),
        (("import", CSV, "-o", "x.json", "--from", "hyperfine"), "gpt2-training-results.csv: no rows with "),
        (("import", "none.csv", "-o", "x.json"), "none.csv: can't be read: No such file"),
        (("import", REPORT, "-o", "x.json"), "already a benchtui session; open it directly"),
        (("import", CSV, "-o", REPORT), "already exists; sessions are never overwritten"),
    ],
)
def test_invalid_input_is_reported_with_exit_status_2(
    arguments: tuple[str, ...], said: str, benchtui: Run
) -> None:
    ran = benchtui(*arguments)
    assert ran.returncode == 2, ran.stdout
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
