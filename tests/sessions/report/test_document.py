"""Reports of sessions of every kind, read as a renderer would."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Idle, Message, Peaks
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Environment, Gpu, Host, Model
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Baseline, Measure, Sweep

from .conftest import full_report

Read = Callable[[str], Any]

EVIL = "a|b`c`<script>alert(1)</script>\n# h\n[x](javascript:1) **b** \x1b[31m http://evil.example &lt; {{ 1 }}"


def parts(forward_ms: float, steps: int) -> dict[str, list[float]]:
    return {"tokenize": [2.0] * steps, "forward": [forward_ms] * steps}


def eight(bench: Any) -> list[Any]:
    """Batch sizes 1 to 8 at two lengths; times grow less than the batch."""
    return [
        bench.case(size, 10.0 * size**0.8 * length / 32, sequence_length=length, end={"stop": "30 steps"})
        for length in (32, 128)
        for size in (1, 2, 4, 8)
    ]


def title(document: Any) -> Any:
    return document.sections[1]


def check(document: Any) -> None:
    """Check what is true of every report."""
    assert not {"html_block", "html_inline", "link_open", "image", "code_inline", "hr"} & document.kinds
    fences = [token.info for token in document.tokens if token.type == "fence"]
    assert fences in (["toml"], ["python", "toml"]), "the sweep, and the code of the fastest case"
    assert document.titles[0] == ""
    assert not document.sections[0].paragraphs
    for place, section in enumerate(document.sections[1:], 1):
        empty = not section.paragraphs and not section.tables
        followed = document.headings[place].tag if place < len(document.headings) else None
        assert not empty or (document.headings[place - 1].tag, followed) == ("h2", "h3"), section.title
        for header, *rows in section.tables:
            assert rows
            assert all(header)
            assert all(len(row) == len(header) for row in rows)
            assert all(cell for row in rows for cell in row)
    words = " ".join(text for section in document.sections for text in section.paragraphs).split()
    assert not {"None", "nan", "inf", "N/A"} & {word.strip(".,;:()") for word in words}


def test_report_of_a_fully_measured_cpu_session(bench: Any, read: Read) -> None:
    sweep = Sweep(name="hand", model="tiny", measure=Measure(baseline=Baseline(batch_size=1)))
    document = read(full_report(bench.session(*eight(bench), sweep=sweep)))
    check(document)
    assert document.titles[1:3] == ["Benchmark report: tiny", "Decision"]
    (subtitle,) = title(document).paragraphs
    assert subtitle.endswith("UTC: 8 of 8 planned cases.")
    near = "leans ahead of 1 other"
    first, second, rest = document["Decision"].paragraphs
    assert first.startswith("Run at 32 tokens: cpu fp32 compile=off bs=8 seq=32, 152 samples/s, against")
    assert second.endswith(f"against the baseline 1.52 × (1.37 to 1.67), FASTER; {near}.")
    assert rest.startswith("Every choice: cpu fp32 compile=off. Baseline: cpu fp32 compile=off bs=1 seq=32 (")
    works = document["Decision"].columns("Workload", "Throughput", "Latency", "Confidence")
    assert works[1] == [
        "128 tokens",
        "bs=8: 37.9 samples/s",
        "bs=1: 40.0 ms",
        f"{near}; latency: clearly ahead of the next",
    ]
    row = document.need("Maximum throughput, 128 tokens")
    assert row["Against the baseline"] == "1.52 × (1.37 to 1.67), FASTER"
    assert row["Next best"] == "cpu fp32 compile=off bs=4 seq=128, 33.0 samples/s"
    assert row["Confidence"] == near
    assert len(document["Performance metrics"].tables[0]) == 9
    assert len(document["Every case"].tables[0]) == 9
    for absent in ("Pairs of options", "Step breakdown", "Warnings"):
        assert absent not in document.titles
    assert "GPU: none" in document["System information"].paragraphs


def test_percentile_of_too_few_steps_is_a_dash(bench: Any, read: Read) -> None:
    many = [10.0 + place / 100 for place in range(200)]
    document = read(
        full_report(bench.session(bench.case(1, many), bench.case(2, 12.0), bench.case(4, [13.0] * 5)))
    )
    found = document["Performance metrics"].columns("n", "p90 (ms)", "p99 (ms)", "± 95% interval (%)")
    assert [row[:3] for row in found] == [["200", "11.8", "12.0"], ["30", "12.0", "–"], ["5", "–", "–"]]
    assert [row[3] == "–" for row in found] == [False, False, True]


def test_every_planned_case_has_a_row_whatever_its_outcome(bench: Any, read: Read) -> None:
    session = bench.session(
        bench.case(1, 10.0),
        bench.case(2, outcome="skipped", end={"reason": "needs a GPU"}),
        bench.case(4, outcome="failed", end={"reason": "killed", "signal": "SIGKILL", "exit_code": -9}),
        bench.case(8, [11.0] * 7, outcome="oom", end={"reason": "out of memory", "stderr_line": "Killed"}),
        bench.case(16, outcome="timeout", end={"reason": "after 600 s"}),
        bench.case(32, outcome="interrupted", end={"reason": "stopped by the user"}),
        finished="interrupted",
    )
    document = read(full_report(session))
    check(document)
    found = document["Every case"].columns("Outcome", "Steps", "Reason", "Signal", "Exit code")
    assert found == [
        ["ok", "30", "–", "–", "–"],
        ["skipped", "–", "needs a GPU", "–", "–"],
        ["failed", "–", "killed", "SIGKILL", "-9"],
        ["out of memory", "7", "out of memory", "–", "–"],
        ["timeout", "–", "after 600 s", "–", "–"],
        ["interrupted", "–", "stopped by the user", "–", "–"],
    ]
    assert document["Every case"].columns("Last line on stderr")[3] == ["Killed"]
    assert "1 of 6 planned cases; 1 skipped, 1 failed, 1 out of memory, 1 timeout and 1 interrupted" in (
        title(document).text
    )
    remarks = document["Results"].paragraphs
    assert "1 case skipped (cpu fp32 compile=off bs=2 seq=128): needs a GPU." in remarks
    assert document["Out of memory"].tables[0][1][1:] == ["1", "8", "out of memory"]
    assert document["Caveats"].paragraphs[0].startswith("Interrupted: the session didn't complete; 1 of 6")


def test_report_when_all_cases_failed(bench: Any, read: Read) -> None:
    cases = [bench.case(size, outcome="failed", end={"reason": "no such model"}) for size in (1, 2)]
    document = read(full_report(bench.session(*cases)))
    check(document)
    assert document["Decision"].paragraphs == [
        "Nothing to decide: nothing was measured: 2 of 2 cases failed: no such model."
    ]
    assert document["Model information"].text == "No case got as far as loading the model."
    assert document.titles[-1] == "Every case"


def test_report_of_a_cut_off_session_with_a_torn_line(bench: Any, read: Read, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    journal = Journal(path)
    made = bench.case(1, 10.0), bench.case(2, 15.0, outcome=None), bench.case(4)
    for event in bench.events(*made[:2], finished=None):
        journal.append(event)
    journal.close()
    path.write_bytes(path.read_bytes() + b'{"event":"steps","t":3')
    document = read(full_report(Session.load(path)))
    check(document)
    assert document["Caveats"].paragraphs[:2] == [
        "Incomplete: the record ends after 1.0 s without the session's end; 1 of 2 planned cases measured.",
        "Incomplete line: the last line of the file was incomplete and has been dropped.",
    ]
    assert document["Every case"].columns("Outcome", "Steps") == [["ok", "30"], ["unfinished", "30"]]


def test_session_without_its_first_event_is_rejected() -> None:
    with pytest.raises(BenchtuiError, match="no session_started"):
        markdown(Session())


def test_single_case_has_nothing_to_compare_with(bench: Any, read: Read) -> None:
    document = read(full_report(bench.session(bench.case(4, 10.0))))
    check(document)
    assert document.need("Maximum throughput")["Confidence"] == "the only case"
    assert document.need("Maximum throughput")["Against the baseline"] == "the baseline"
    assert "Scaling with batch size" not in document.titles
    assert "What each option brings" not in document.titles


def test_report_says_that_the_baseline_was_not_measured(bench: Any, read: Read) -> None:
    sweep = Sweep(name="hand", model="tiny", measure=Measure(baseline=Baseline(batch_size=64)))
    document = read(full_report(bench.session(bench.case(1, 10.0), sweep=sweep)))
    assert "Baseline: none: no case with batch_size=64 was planned at 128 tokens" in document["Decision"].text


@pytest.mark.parametrize(
    ("option", "values", "base"),
    [
        ("precision", ("fp32", "bf16"), "fp32"),
        ("precision", ("bf16", "fp16"), "bf16"),
        ("attention", ("eager", "sdpa"), "eager"),
        ("attention", ("eager", "auto"), "auto"),
    ],
)
def test_gains_name_the_value_that_they_are_relative_to(
    bench: Any, read: Read, option: str, values: tuple[str, ...], base: str
) -> None:
    session = bench.session(*(bench.case(1, 10.0, **{option: value}) for value in values))
    rows = read(full_report(session))[option.capitalize()].columns("Against")
    assert rows == [[base]] * (len(values) - 1)


def test_precision_gain_is_claimed_if_the_option_was_applied(bench: Any, read: Read) -> None:
    amp = bench.effective(autocast_dtype="float16", output_dtype="float16")
    vain = bench.effective(autocast_dtype="float32")
    session = bench.session(
        bench.case(1, 10.0),
        bench.case(2, 20.0),
        bench.case(4, 40.0),
        bench.case(1, 5.0, precision="amp-fp16", effective=amp),
        bench.case(2, 20.01, precision="amp-fp16", effective=amp),
        bench.case(4, 20.0, precision="amp-fp16", effective=vain),
    )
    document = read(full_report(session))
    check(document)
    section = document["Precision"]
    found = section.columns("Case", "Against", "Throughput (×)", "Step (×)", "Verdict", "Applied")
    assert found == [
        ["cpu amp-fp16 compile=off bs=1 seq=128", "fp32", "2.00", "2.00", "FASTER", "yes"],
        [
            "cpu amp-fp16 compile=off bs=2 seq=128",
            "fp32",
            "1.000",
            "1.000",
            "UNSURE: can't resolve below 20 %",
            "yes",
        ],
        ["cpu amp-fp16 compile=off bs=4 seq=128", "fp32", "2.00", "2.00", "–", "no"],
    ]
    low, high = section.columns("95% interval of the step (×)")[0][0].split(" to ")
    assert float(low) < 2 < float(high)
    assert "Not applied: amp-fp16 in 1 case, though it was requested." in document["Caveats"].text
    ((tally, ratios),) = [
        row[1:]
        for row in document["What each option brings"].columns("Option", "Verdicts", "Throughput (×)")
        if row[0] == "precision"
    ]
    assert (tally, ratios) == ("1 FASTER, 1 UNSURE and 1 not applied", "1.000 to 2.00")


def test_ratios_next_to_a_neighbor_are_in_no_range(bench: Any, read: Read) -> None:
    busy = Environment(others_cpu_percent=80.0, processors=2)
    end = {"environment": busy, "marks": ("disturbed: other processes used 80% CPU",)}
    made = [
        bench.case(
            size,
            ms,
            compile=mode,
            effective=bench.effective(compiled=mode != "off"),
            end=end if ms > 50 else {},
        )
        for size, ms, mode in ((1, 500.0, "off"), (1, 8.0, "default"), (2, 16.0, "off"), (2, 8.0, "default"))
    ]
    document = read(full_report(bench.session(*made)))
    check(document)
    effects = document["What each option brings"].columns("Option", "Throughput (×)", "Pairs", "Verdicts")
    assert ["compiling", "2.00", "2", "1 UNSURE and 1 FASTER"] in effects
    scaling = document["Scaling with batch size"].columns("Case", "Throughput relative to linear scaling")
    assert [cell for name, cell in scaling if "compile=off" in name] == ["–", "1.000"]


def test_backends_are_compared_with_torch_and_with_what_it_compiles(bench: Any, read: Read) -> None:
    def made(ms: float, cold_ms: float, backend: str, **options: Any) -> Any:
        read_back = bench.effective(compiled="compile" in options, others={"backend": backend})
        return bench.steady(1, ms, backend=backend, effective=read_back, warmup_ms=[cold_ms], **options)

    cases = (
        made(10.0, 10.0, "torch"),
        made(8.0, 1008.0, "torch", compile="default"),
        made(4.0, 2004.0, "openvino"),
    )
    document = read(full_report(bench.session(*cases)))
    check(document)
    effects = document["What each option brings"].columns("Value", "Against", "Pays off after (steps)")
    assert ["openvino", "torch", "334"] in effects
    assert ["openvino", "torch, compiled", "251"] in effects


def test_unequal_threads_of_a_backend_are_in_the_report(bench: Any, read: Read) -> None:
    mark = "onnxruntime ran with 3 threads, torch would with 2"
    document = read(full_report(bench.session(bench.case(1, 10.0), bench.case(2, 10.0, marks=(mark,)))))
    assert document["Every case"].columns("Marks") == [["–"], [mark]]
    assert any("threads" in text for text in document["Caveats"].paragraphs)


@pytest.mark.parametrize(
    ("steps_ms", "pace"), [([10.0] * 29 + [300.0], "slow"), ([10.0] * 16 + [2.0] * 14, "slow or fast")]
)
def test_case_dominated_by_a_few_steps_is_named(
    bench: Any, read: Read, steps_ms: list[float], pace: str
) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, steps_ms))
    note = read(full_report(session))["Caveats"].paragraphs[0]
    assert note.startswith(f"Far outliers: a few {pace} steps dominate cpu fp32")
    assert "bs=2" in note


def test_engine_warnings_are_listed(bench: Any, read: Read) -> None:
    more = [Message(t=2.0, level="warning", text="a|b"), Message(t=3.0, level="info", text="quiet")]
    document = read(full_report(bench.session(bench.case(1, 10.0), more=more)))
    assert document["Warnings"].tables == [[["At (s)", "Level", "Message"], ["2.0", "warning", "a|b"]]]


def test_session_text_never_becomes_markup(bench: Any, read: Read) -> None:
    host = Host(
        hostname=EVIL,
        platform=EVIL,
        python=EVIL,
        gpus=(Gpu(index=0, name=EVIL),),
        driver=EVIL,
        packages={EVIL: EVIL},
        absent={EVIL: EVIL},
    )
    evil = {"device": EVIL, "precision": EVIL, "attention": EVIL, "compile": EVIL}
    end = {"reason": EVIL, "signal": EVIL, "stderr_line": EVIL, "stop": EVIL, "marks": (EVIL,)}
    model = Model(name=EVIL, architecture=EVIL, source=EVIL, weights="random")
    effective = bench.effective(weights_dtype=EVIL, output_dtype=EVIL, attention=EVIL, autocast_dtype=EVIL)
    options = {"end": end, "model": model, "effective": effective, "marks": (EVIL,)}
    session = bench.session(
        bench.case(1, 10.0, parts={EVIL: [1.0] * 30}, **options),
        bench.case(1, 5.0, **evil, **options),
        bench.case(2, 5.0, **evil, **options),
        bench.case(4, outcome="failed", end=end),
        sweep=Sweep(name=EVIL, model=EVIL, task=EVIL, dataset=EVIL),
        host=host,
        finished="interrupted",
        more=[Message(t=1.0, level="error", text=EVIL)],
    )
    document = read(full_report(session))
    check(document)
    (reason,) = document["Every case"].columns("Reason")[3]
    assert reason.startswith(
        "a|b`c`<script>alert(1)</script> # h [x](javascript:1) **b** \ufffd[31m http://evil"
    )
    assert len(document["Every case"].tables[0]) == 5


def test_disturbances_share_a_note_and_the_method_has_rounds_and_noise_floor(bench: Any, read: Read) -> None:
    marks = [
        (f"disturbed: other processes used {percent}% CPU", "disturbed: 300 context switches per second")
        for percent in (63, 90)
    ]
    times = [[10.0] * 10, [10.1] * 10, [10.2] * 10]
    environment = Environment(others_cpu_percent=63.0)
    made = [
        bench.case(
            1,
            rounds=times,
            repeat=again,
            end={"marks": marks[again], "environment": environment, "warmup_stop": "stable"},
        )
        for again in (0, 1)
    ]
    rules = Measure(rounds=3, aa=True, warmup_auto=True, until_auto=True, mode="throughput")
    sweep = Sweep(name="hand", model="tiny", measure=rules, env={"A": "b"})
    idle = Idle(t=0.5, window_s=1.25, power_w={"gpu 0": 70.0})
    context = Peaks(t=0.6, device="cuda:0", precision="fp32", context_power_w=116.0)
    document = read(full_report(bench.session(*made, sweep=sweep, more=[idle, context])))
    check(document)
    assert [text for text in document["Caveats"].paragraphs if text.startswith("Disturbed")] == [
        "Disturbed: both cases; other processes used up to 0.6 CPU cores."
    ]
    text = document["Method"].text
    assert "Rounds: 3 of every case, in alternating order; their medians differ by up to 1.98%" in text
    assert (
        "Noise floor: cpu fp32 compile=off bs=1 seq=128 measured twice: typical steps +0.00 %"
        " apart (UNSURE: load or clock may explain it); no smaller difference counts" in text
    )
    assert "Environment variables: A=b" in text
    idle_power = "gpu 0 70.0 W, over 1.2 s before the first case; with a CUDA context cuda:0 116.0 W"
    assert f"Idle power: {idle_power}; not subtracted" in text
    assert "Warm-up ended by: stable (2 cases)" in text and "warmup_auto" in text
    assert "Timing: throughput mode: " in text
    assert document["Every case"].columns("CPU use of other processes (%)") == [["63"], ["63"]]
    assert len(document["Results"].columns("Step (ms)")) == 1, "the repetition is no choice of its own"
