"""Plots of hand-made sessions: their contents, and that text of a session is drawn literally."""

import logging
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from journals import import_results
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, Telemetry
from benchtui.sessions.payloads import Energy, GpuReadings, HostReadings, Memory, Reported
from benchtui.sessions.plots import bars, curves, power_trace
from benchtui.sessions.plots.render import RenderedPlot, render_plots, write
from benchtui.sessions.plots.spec import plot_data
from benchtui.sessions.plots.style import drawing, label
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.verdicts import Verdict

PNG = b"\x89PNG\r\n"
FIXTURES = Path(__file__).parents[2] / "fixtures"


def whole(bench: Any, **options: Any) -> Session:
    """Return a session with the data for every plot."""
    end = {
        "memory": Memory(peak_rss_mb=500.0),
        "energy": Energy(energy_j=30.0, mean_power_w=100.0, source="counter"),
        "measured_s": (1.0, 2.0),
    }
    made = [
        bench.case(
            size,
            10.0 * size**0.5,
            compile=mode,
            end=end,
            warmup_ms=[900.0],
            parts={"tokenize": [1.0] * 30, "forward": [5.0] * 30},
            **options,
        )
        for mode in ("off", "default")
        for size in (1, 2, 4)
    ]
    oom = bench.case(8, outcome="oom", compile="default", end={"reason": "out of memory"})
    readings = Telemetry(
        t=3.0,
        at_s=[1.0, 2.0, 3.0],
        gpus=(GpuReadings(index=0, power_w=[100.0, None, 120.0]),),
        host=HostReadings(package_energy_j=[0.0, 50.0, 90.0]),
    )
    session: Session = bench.session(*made, oom, more=(readings,))
    return session


def texts(picture: RenderedPlot) -> str:
    """Return all text of a plot, as a reader sees it."""
    root = ElementTree.fromstring(picture.svg)
    return "\n".join(text for each in root.iter() if (text := (each.text or "").strip()))


def titles(picture: RenderedPlot) -> list[str]:
    """Return the titles of the values."""
    return [str(each.text) for each in ElementTree.fromstring(picture.svg).iter() if each.tag.endswith("title")]


def named(found: Sequence[RenderedPlot]) -> dict[str, RenderedPlot]:
    return {picture.name: picture for picture in found}


def test_every_plot_with_data_is_drawn(bench: Any) -> None:
    found, lacking = render_plots(whole(bench), png=True)
    assert list(named(found)) == [
        "speedup",
        "throughput",
        "latency",
        "memory",
        "energy",
        "jitter",
        "compile",
        "parts",
        "power",
    ]
    assert lacking == []
    assert all(picture.png and picture.png.startswith(PNG) for picture in found)


def test_axes_have_units_and_captions_have_n(bench: Any) -> None:
    found = named(render_plots(whole(bench))[0])
    units = {
        "throughput": "Throughput (samples/s)",
        "latency": "Typical step (ms)",
        "memory": "Peak memory (MB)",
        "energy": "Energy (J/sample)",
        "jitter": "Jitter (%)",
        "compile": "Cold cost (s)",
        "parts": "Share of the mean step (%)",
        "power": "Power (W)",
        "speedup": "Throughput relative to the baseline (×)",
    }
    for name, unit in units.items():
        assert unit in texts(found[name]), name
        assert name == "power" or "n = 30 steps per case" in texts(found[name]).replace("\n", " "), name
    assert "out of memory" in texts(found["throughput"])


def test_each_plot_has_its_values_as_titles(bench: Any) -> None:
    found = {name: titles(picture) for name, picture in named(render_plots(whole(bench))[0]).items()}
    assert found["throughput"][0] == "cpu fp32 compile=off bs=1 seq=128: 100 samples/s (93.2 to 107)"
    assert found["throughput"][-1] == "cpu fp32 compile=default bs=8 seq=128: out of memory"
    assert found["latency"][0] == "cpu fp32 compile=off bs=1 seq=128: 10.0 ms (9.95 to 10.0)"
    assert found["memory"][0] == "cpu fp32 compile=off bs=1 seq=128: 500 MB"
    assert found["speedup"][0] == "cpu fp32 compile=off bs=4 seq=128: 2.00 × (1.81 to 2.21)"
    assert found["compile"][0] == "cpu fp32 compile=off bs=1 seq=128: 0.890 s"
    assert found["compile"][1] == "cpu fp32 compile=off bs=1 seq=128: 10.0 ms (9.32 to 10.7)"
    assert found["parts"][0] == "cpu fp32 compile=off bs=1 seq=128: tokenize 10.0 %"
    assert found["power"][0] == "cpu fp32 compile=off bs=1 seq=128: mean power 100 W"
    assert [len(found[name]) for name in ("throughput", "speedup", "compile", "parts")] == [7, 5, 12, 18]


def test_values_are_where_the_points_are(bench: Any) -> None:
    (picture,) = (each for each in render_plots(whole(bench))[0] if each.name == "throughput")
    root = ElementTree.fromstring(picture.svg)
    (group,) = (each for each in root.iter() if each.get("class") == "values")
    marks = {
        (float(each.get("x", 0)), float(each.get("y", 0))) for each in root.iter() if each.tag.endswith("use")
    }
    for circle in group:
        x, y = float(circle.get("cx", 0)), float(circle.get("cy", 0))
        assert min(abs(x - at) + abs(y - above) for at, above in marks) < 0.2


def test_text_of_a_value_is_escaped(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0, device="<b>&", parts={"a</title>": [5.0] * 30}))
    for picture in render_plots(session)[0]:
        assert all("<b>&" in text for text in titles(picture))


def test_captions_of_imported_means_speak_of_no_median_and_no_bars(tmp_path: Path) -> None:
    data = plot_data(import_results(FIXTURES / "gpt2-training-results.csv", tmp_path / "gpt2.json"))
    captions = [
        curves.plan(data, curve_of(data.results)).caption for curve_of in (curves.throughput, curves.latency)
    ]
    assert captions == ["n = 500 to 1,000 steps per case.", "n = 500 to 1,000 steps per case. Mean step."]


def test_memory_of_the_whole_device_is_drawn_if_nothing_else_is_known(tmp_path: Path) -> None:
    session = import_results(FIXTURES / "batch-sweep-batches.csv", tmp_path / "batches.json")
    memory = curves.plan(plot_data(session), curves.MEMORY)
    assert "else used on the device" in memory.caption


def test_svg_is_reproducible_and_has_no_date(bench: Any) -> None:
    one, other = render_plots(whole(bench))[0], render_plots(whole(bench))[0]
    assert [picture.svg for picture in one] == [picture.svg for picture in other]
    assert b"dc:date" not in b"".join(picture.svg for picture in one)


def test_plot_without_data_is_skipped_with_a_reason(bench: Any) -> None:
    found, lacking = render_plots(bench.session(bench.case(1, 10.0)))
    assert list(named(found)) == ["throughput", "latency", "jitter"]
    assert {each.name: each.reason for each in lacking} == {
        "speedup": "no case has a ratio to its baseline",
        "memory": "no case has a peak memory",
        "energy": "no case has an energy reading",
        "compile": "no compiled case has recorded steps",
        "parts": "no case has timed parts",
        "power": "power not measured",
    }


def test_session_without_measurements_has_no_plots(bench: Any) -> None:
    found, lacking = render_plots(bench.session(bench.case(1, outcome="oom")))
    assert (found, len(lacking)) == ([], 9)


def test_out_of_memory_sizes_are_marked_in_their_series(bench: Any) -> None:
    known = plot_data(
        bench.session(
            bench.case(1, 10.0),
            bench.case(64, outcome="oom"),
            bench.case(2, outcome="oom", precision="bf16"),
            bench.case(4, outcome="failed", precision="fp16"),
        )
    )
    found = curves.lines(
        known, replace(curves.MEMORY, to_point=lambda result: curves.Point(result.config.batch_size, 1.0))
    )
    assert [
        (line.label, [point.batch_size for point in line.points], line.out_of_memory) for line in found
    ] == [("cpu fp32 compile=off seq=128", [1], (64,)), ("cpu bf16 compile=off seq=128", [], (2,))]


def test_speedups_are_sorted_without_the_baseline(bench: Any) -> None:
    known = plot_data(
        bench.session(bench.case(1, 10.0), bench.case(2, 10.0), bench.case(4, 10.01), bench.case(8, 100.0))
    )
    found = bars.case_speedups(known)
    assert [place.result.config.batch_size for place in found] == [4, 2, 8]
    assert {place.ratio.verdict for place in found} <= {Verdict.FASTER, Verdict.SLOWER}
    assert found[-1].ratio.value == pytest.approx(0.8)


def test_compiled_cases_follow_their_uncompiled_counterparts(bench: Any) -> None:
    known = plot_data(
        bench.session(
            bench.case(1, 10.0),
            bench.case(2, 10.0),
            bench.case(2, 9.0, compile="default"),
            bench.case(3, 9.0, compile="default"),
        )
    )
    found = [(result.config.batch_size, result.config.compile) for result in bars.compiled_and_not(known)]
    assert found == [(2, "off"), (2, "default"), (3, "default")]


def test_parts_smaller_than_the_step_leave_a_rest(bench: Any) -> None:
    (result,) = bench.results(bench.case(1, [10.0] * 6, parts={"forward": [6.0] * 6, "result": [1.0] * 6}))
    assert bars.shares(result) == pytest.approx({"forward": 60, "result": 10, "rest": 30})
    (result,) = bench.results(bench.case(1, [10.0] * 6, parts={"forward": [10.0] * 6}))
    assert list(bars.shares(result)) == ["forward"]


def test_cpu_power_is_computed_from_energy_differences(bench: Any) -> None:
    found = power_trace.curves(whole(bench))
    assert [curve.label for curve in found] == ["GPU 0", "CPU packages"]
    assert (list(found[1].at_s), list(found[1].power_w)) == ([2.0, 3.0], [50.0, 40.0])


def test_downsampled_power_keeps_its_extremes(bench: Any) -> None:
    peak = [100.0] * 50_000
    peak[31_415] = 700.0
    readings = Telemetry(
        t=1.0, at_s=[float(at) for at in range(50_000)], gpus=(GpuReadings(index=0, power_w=list(peak)),)
    )
    (curve,) = power_trace.curves(bench.session(bench.case(1, 10.0), more=(readings,)))
    assert len(curve.at_s) <= power_trace.MOST_POINTS
    assert (max(curve.power_w), min(curve.power_w)) == (700.0, 100.0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("$x^2$ & <b>", "$x^2$ & <b>"),
        ("_hidden", " _hidden"),
        ("a\nb\x1b[31m\u202e\ufffe", "a b�[31m��"),
        ("x" * 80, "x" * 69 + "…"),
    ],
)
def test_labels_are_literal_without_invisible_characters(text: str, shown: str) -> None:
    assert label(text) == shown


def test_untrusted_text_is_drawn_literally(bench: Any) -> None:
    evil = "$\\frac{1$ <script>x</script> \x1b _a\ufffe 漢"
    session = bench.session(
        *(bench.case(size, 10.0, device=evil, parts={f"_{evil}": [5.0] * 30}) for size in (1, 2))
    )
    found = named(render_plots(session, png=True)[0])
    for name in ("speedup", "throughput", "parts"):
        assert "$\\frac{1$ <script>x</script> � _a� 漢" in texts(found[name]), name
        assert not re.search(rb"<script", found[name].svg)
    assert "_$" in texts(found["parts"])


def test_values_of_any_size_are_drawn(bench: Any) -> None:
    session = bench.session(
        bench.case(1, [0.0] * 8),
        bench.case(10**9, [1e18] * 8),
        *(bench.case(size, 1.0 + size) for size in range(3, 40)),
        more=(CaseFinished(t=50.0, case=0, outcome="ok", measured_s=(2.0, 1.0)),),
    )
    assert {"throughput", "latency"} <= set(named(render_plots(session)[0]))


def test_rows_and_series_beyond_the_limit_are_counted(bench: Any) -> None:
    session = bench.session(
        *(
            bench.case(2, 50.0 - threads, threads=threads, parts={"forward": [5.0] * 30})
            for threads in range(1, 41)
        )
    )
    found = named(render_plots(session)[0])
    assert "The 24 of 40 series with the highest values." in found["throughput"].caption
    assert "The 24 of 40 series with the lowest values." in found["latency"].caption
    assert "The 30 fastest of 39 cases." in found["speedup"].caption
    assert "The 30 fastest of 40 cases." in found["parts"].caption
    shown = {int(each) for each in re.findall(r"threads=(\d+)$", texts(found["throughput"]), re.MULTILINE)}
    assert shown == set(range(17, 41)), "the fastest, in the order of the plan"


def test_devices_with_the_highest_power_are_drawn_without_warnings(
    bench: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    gpus = tuple(GpuReadings(index=index, power_w=[100.0 + index, 110.0 + index]) for index in range(64))
    session = bench.session(bench.case(1, 10.0), more=(Telemetry(t=3.0, at_s=[1.0, 2.0], gpus=gpus),))
    found = named(render_plots(session)[0])["power"]
    assert "The 12 of 64 devices with the highest mean." in found.caption
    assert set(re.findall(r"GPU (\d+)", texts(found))) == {str(index) for index in range(52, 64)}
    assert capfd.readouterr() == ("", "")


def test_windows_too_close_to_distinguish_are_merged() -> None:
    few = [power_trace.MeasuredWindow(case, case, case + 0.5, ran_out=False) for case in range(100)]
    assert power_trace.merged(few) == few
    many = [power_trace.MeasuredWindow(case, case, case + 0.9, ran_out=False) for case in range(10_000)]
    late = power_trace.MeasuredWindow(10_000, 12_000.0, 12_001.0, ran_out=False)
    ended = [power_trace.MeasuredWindow(case, case + 0.95, case + 0.95, ran_out=True) for case in range(10_000)]
    spans = sorted([*many, *ended, late], key=lambda span: span.start_s)
    found = power_trace.merged(spans)
    assert [(span.start_s, span.end_s) for span in found if not span.ran_out] == [
        (0, 9_999.9),
        (12_000.0, 12_001.0),
    ]
    assert 300 < len([span for span in found if span.ran_out]) <= power_trace.MOST_WINDOWS


def test_files_are_written_into_a_new_folder(bench: Any, tmp_path: Any) -> None:
    found, _ = render_plots(bench.session(bench.case(1, 10.0)), png=True)
    write(found, tmp_path / "new" / "figures", ())
    names = {path.name for path in (tmp_path / "new" / "figures").iterdir()}
    assert names == {
        f"{name}.{kind}" for name in ("throughput", "latency", "jitter") for kind in ("svg", "png")
    }
    (tmp_path / "file").write_text("x")
    with pytest.raises(BenchtuiError, match="file: can't create the folder for the figures"):
        write(found, tmp_path / "file", ())


def test_matplotlib_warnings_are_suppressed() -> None:
    with drawing():
        assert not logging.getLogger("matplotlib.font_manager").isEnabledFor(logging.WARNING)
        warnings.warn("constrained_layout not applied because axes sizes collapsed to zero.", stacklevel=1)


def test_captions_name_medians_and_bars_only_where_there_are_some(bench: Any) -> None:
    def caption_of(session: Session) -> dict[str, str]:
        return {name: plot.caption for name, plot in named(render_plots(session)[0]).items()}

    known = caption_of(bench.session(bench.case(1, 10.0), bench.case(2, 15.0)))
    assert "Typical step. Bars: from the fastest step to p95" in known["latency"]
    assert "Bars: 95% interval" in known["throughput"] and "Bars: 95% interval." in known["speedup"]
    reported = Reported(steps=20, latency_mean_ms=5.0, samples_per_s=200.0)
    imported = (bench.case(size, outcome="ok", end={"reported": reported}) for size in (1, 2))
    means = caption_of(bench.session(*imported))
    assert "Mean step." in means["latency"]
    assert not any("Bars" in caption for caption in means.values())


def compared(bench: Any, kind: str, *distances: float | None) -> Session:
    """A session of a baseline at 100 samples/s, and ever faster cases with answers at these distances."""
    precisions = ("fp32", "tf32", "bf16", "fp16", "int8")
    cases = [bench.case(1, 10 / (1 + place), precision=name) for place, name in enumerate(precisions)]
    answers = []
    for place, each in enumerate(distances, 1):
        worse = "different" if each and each > 0.1 else "close"
        verdict = {0.0: "identical", None: "broken"}.get(each, worse)
        answers.append(bench.answered(place, verdict=verdict, **({} if each is None else {kind: each})))
    session: Session = bench.session(*cases[: 1 + len(distances)], more=[bench.answered(0), *answers])
    return session


def test_throughput_is_drawn_against_the_distance_of_the_answers(bench: Any) -> None:
    """The baseline and an identical case are at 0, cases without a distance are left out."""
    found = named(render_plots(compared(bench, "kl_mean", 0.0, 1e-4, 0.5, None))[0])["answers"]
    assert [title.partition(" compile=off bs=1 seq=128: ")[::2] for title in titles(found)] == [
        ("cpu fp32", "100 samples/s at KL divergence 0 nats"),
        ("cpu tf32", "200 samples/s at KL divergence 0 nats"),
        ("cpu bf16", "300 samples/s at KL divergence 0.0001 nats"),
        ("cpu fp16", "400 samples/s at KL divergence 0.5 nats"),
    ]
    shown = texts(found)
    assert "KL divergence (nats)" in shown and "Throughput (samples/s)" in shown
    assert "Hollow: DIFFERENT or BROKEN" in found.caption
    legend = [
        name
        for name in ("fp32", "tf32", "bf16", "fp16")
        if f"cpu {name} compile=off bs=1 seq=128" in shown.split("\n")
    ]
    assert legend == ["tf32", "bf16", "fp16"], "the front, without the slower baseline"


@pytest.mark.parametrize(
    ("kind", "value", "axis"),
    [
        ("equal_tokens", 0.75, "Unequal tokens (%)"),
        ("loss_difference", 0.02, "Largest difference of a loss (%)"),
        ("cosine", 0.9, "1 - cosine"),
    ],
)
def test_other_kinds_of_answers_have_their_own_distance(bench: Any, kind: str, value: float, axis: str) -> None:
    assert axis in texts(named(render_plots(compared(bench, kind, value))[0])["answers"])
