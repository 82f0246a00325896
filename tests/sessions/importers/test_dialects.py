"""Tables and JSON in the dialects of the field, read with the same figures; what is ambiguous is refused."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.importers import registry
from benchtui.sessions.stats.results import measured

PLAIN = "batch,latency_ms\n1,5.5\n2,7.5\n"
RECORDS = [{"batch": 1, "latency_ms": 5.5}, {"batch": 2, "latency_ms": 7.5}]
LATENCIES: dict[str, float | None] = {"bs=1": 5.5, "bs=2": 7.5}


def zipped(**files: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)  # without the time of day
    return data.getvalue()


def latencies(imported: Any, tmp_path: Path, content: str | bytes) -> dict[str, float | None]:
    path = tmp_path / "written"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return {row.name: row.latency_mean_ms for row, _ in rows(imported(path))}


SAME = {
    "quoted decimal commas": 'batch\tlatency_ms\n1\t"5,5"\n2\t"7,5"\n',
    "one space": "batch latency_ms\n1 5.5\n2 7.5\n",
    "reStructuredText": "=====  ====\nbatch  latency_ms\n=====  ====\n1      5.5\n2      7.5\n=====  ====\n",
    "LaTeX": r"""\begin{tabular}{rr}
batch & latency_ms \\
\midrule
1 & 5.5 \\
2 & 7.5 \\
\end{tabular}
""",
    "index": ",batch,latency_ms\n0,1,5.5\n1,2,7.5\n",
    "repeated header": "batch,latency_ms\n1,5.5\nbatch,latency_ms\n2,7.5\n",
    "names in another language": "Batch,Zeit pro Schritt (ms)\n1,5.5\n2,7.5\n",
    "seconds": "Batch Size,Time (seconds)\n1,0.0055\n2,0.0075\n",
    "units in a column": "batch,time,unit\n1,5.5,ms\n2,7500,us\n",
    "unit beside a value": json.dumps(
        [{"batch": size, "latency": {"value": ms, "unit": "ms"}} for size, ms in ((1, 5.5), (2, 7.5))]
    ),
    "unit before the statistic": "batch,latency (ms) mean,latency (ms) p99\n1,5.5,6\n2,7.5,8\n",
    "unit in capitals": '[{"batchSize": 1, "latencyMS": 5.5}, {"batchSize": 2, "latencyMS": 7.5}]',
    "deviations between spaces": "batch   time\n1       5.5 ms ± 0.1 ms\n2       7.5 ms ± 0.1 ms\n",
    "deviations": "batch,latency_ms\n1,5.5 ± 2%\n2,7.5ms ± 0.1ms\n",
    "a column twice": "batch,latency_ms,latency_ms\n1,5.5,9\n2,7.5,9\n",
    "trailing commas": '[{"batch": 1, "latency_ms": 5.5,}, {"batch": 2, "latency_ms": 7.5},]',
    "comments": '// today\n{"results": [\n  {"batch": 1, "latency_ms": 5.5}, /* warm */\n'
    '  {"batch": 2, "latency_ms": 7.5}]}',
    "log lines": "INFO start\n" + "\n".join(map(json.dumps, RECORDS)) + "\nINFO end\n",
    "an array of lines": "[\n" + "\n".join(map(json.dumps, RECORDS)) + "\n]",
    "columns": json.dumps({"batch": {"0": 1, "1": 2}, "latency_ms": {"0": 5.5, "1": 7.5}}),
}


@pytest.mark.parametrize("dialect", SAME)
def test_figures_are_the_same_in_every_dialect(imported: Any, tmp_path: Path, dialect: str) -> None:
    assert latencies(imported, tmp_path, SAME[dialect]) == pytest.approx(LATENCIES)


OTHERS: dict[str, tuple[str, dict[str, float | None]]] = {
    "1,234.5": ('batch;latency_ms\n1;"1,234.5"\n2;"2,234.5"\n', {"bs=1": 1234.5, "bs=2": 2234.5}),
    "1.234,5": ("batch;latency_ms\n1;1.234,5\n2;2.234,75\n", {"bs=1": 1234.5, "bs=2": 2234.75}),
    "1 234": ("batch;latency_ms\n1;1 234\n2;2 234\n", {"bs=1": 1234, "bs=2": 2234}),
    "1_234": ("batch,latency_ms\n1,1_234\n2,2_234\n", {"bs=1": 1234, "bs=2": 2234}),
    "1,234.5 ns": ('name,mean\na,"1,234.5 ns"\nb,2 us\n', {"a": 0.0012345, "b": 0.002}),
    "1m03s": ("name,time\na,1m03s\nb,54s\n", {"a": 63_000, "b": 54_000}),
    "it/s": ("config,it/s\na,5\nb,2\n", {"a": 200, "b": 500}),
    "words": (
        "batch,latency_ms\n1,5.5\n2,OOM\n4,inf\n8,N/A\n",
        {"bs=1": 5.5, "bs=2": None, "bs=4": None, "bs=8": None},
    ),
    "batch sizes as columns": (
        "Latency (ms),bs=1,bs=2\na,5,7\nb,6,OOM\n",
        {"a bs=1": 5, "a bs=2": 7, "b bs=1": 6, "b bs=2": None},
    ),
    "bare batch sizes as columns": ("Time [s]\t1\t8\na\t0.5\t0.9\n", {"a bs=1": 500, "a bs=8": 900}),
    "lines of names and values": (
        "Batch size: 8\nLatency: 5.5 ms\nThroughput: 1,454.5 samples/s\n",
        {"bs=8": 5.5},
    ),
    "a quantity a row": ("metric,value\nbatch_size,8\nlatency_ms,5.5\n", {"bs=8": 5.5}),
    "single steps": ("step,latency_ms\n0,5\n1,6\n2,7\n", {"case": 6}),
    "an object of cases": (json.dumps({"a": RECORDS[0], "b": RECORDS[1]}), {"a bs=1": 5.5, "b bs=2": 7.5}),
    "tables below headings": (
        "".join(
            f"# {of}\n\n|batch|latency (ms)|\n|---|---|\n|1|{ms}|\n\n" for of, ms in (("fp32", 5), ("fp16", 3))
        ),
        {"bs=1 table=fp32": 5, "bs=1 table=fp16": 3},
    ),
    "rounds as columns": ("batch,run 1 (ms),run 2 (ms)\n1,5,6\n2,7,8\n", LATENCIES),
    "batch sizes with a unit as columns": (
        "model,bs1_ms,bs2_ms\na,5,7\nb,6,9\n",
        {"a bs=1": 5, "a bs=2": 7, "b bs=1": 6, "b bs=2": 9},
    ),
    "pairs in log lines": (
        "INFO warm\n[12:01] batch=1 latency=5.5ms mem=2.0 GiB\n[12:02] batch=2 latency=7.5ms mem=3.0 GiB\n",
        LATENCIES,
    ),
    "pairs between commas": (
        "batch size: 1, latency: 5.5 ms, model: a\nbatch size: 2, latency: 7.5 ms, model: a\n",
        LATENCIES,
    ),
    "a batch size a line": ("Batch size 1: 5.5 ms\nBatch size 2: 7.5 ms\n", LATENCIES),
    "SQL": (
        "CREATE TABLE t (batch INTEGER,\n latency_ms REAL);\n"
        "INSERT INTO t (batch, latency_ms) VALUES ('1', '5.5');\nINSERT INTO t VALUES (2, 7.5);\n",
        LATENCIES,
    ),
    "parts of a step": ("batch,fwd_ms,bwd_ms,optimizer_ms,total_ms\n1,2,3,0.5,5.5\n2,3,4,0.5,7.5\n", LATENCIES),
    "parts around a step": (
        "batch,preprocess_ms,inference_ms,postprocess_ms\n1,2,5.5,0.5\n2,3,7.5,0.5\n",
        LATENCIES,
    ),
    "runtimes as columns": (
        "batch,pytorch_ms,onnxruntime_ms\n1,5,4\n2,7,6\n",
        {
            "bs=1 column=pytorch_ms": 5,
            "bs=1 column=onnxruntime_ms": 4,
            "bs=2 column=pytorch_ms": 7,
            "bs=2 column=onnxruntime_ms": 6,
        },
    ),
    "a mean next to a total": (
        "Total Time (ns),Instances,Avg (ns),StdDev (ns),batch\n550e6,100,5.5e6,10,1\n750e6,100,7.5e6,10,2\n",
        LATENCIES,
    ),
    "a total over its runs": ("batch,iterations,total_time_s\n1,100,0.55\n2,200,1.5\n", LATENCIES),
    "a time without a unit next to one with it": (
        "batch,Runtime,train/step_time_ms,throughput (TFLOP/s)\n1,345,5.5,10\n2,12,7.5,12\n",
        LATENCIES,
    ),
    "merged cells": (
        "| Step | Batch | Average |\n|---|---|---|\n| a | 1 | 5.5 ms |\n| | 2 | 7.5 ms |\n| b | 1 | 1 ms |\n",
        {"bs=1 Step=a": 5.5, "bs=2 Step=a": 7.5, "bs=1 Step=b": 1},
    ),
    "records of other things": (
        '{"event": "start", "time_ms": 1709287331123}\n'.replace("event", "what")
        + '{"batch": 1, "latency_ms": 5.5}\n{"batch": 2, "latency_ms": 7.5}\n',
        LATENCIES,
    ),
    "pairs in cells": (
        "config,latency_ms\nbs=1 len=128,5.5\nbs=8 len=128,7.5\n",
        {"bs=1 len=128": 5.5, "bs=8 len=128": 7.5},
    ),
    "settings that nobody knows": (
        "batch_size,num_beams,latency_ms\n1,1,5\n1,4,12\n",
        {"bs=1 num_beams=1": 5, "bs=1 num_beams=4": 12},
    ),
    "texts that tell rows apart": (
        "| Step | Batch | Average |\n|---|---|---|\n| prefill | 1 | 36 ms |\n| decode | 1 | 25 ms |\n",
        {"bs=1 Step=prefill": 36, "bs=1 Step=decode": 25},
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_kind_of_table_is_read(imported: Any, tmp_path: Path, kind: str) -> None:
    content, expected = OTHERS[kind]
    assert latencies(imported, tmp_path, content) == pytest.approx(expected, nan_ok=False)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("command,mean\na,0.5\nb,0.6\n", "the unit of 'mean' isn't stated"),
        ('{"times": [0.5, 0.6]}', "the unit of 'times' isn't stated"),
        ("name,latency_min,latency_max\na,1,3\nb,2,4\n", "may be minutes or the minimum"),
        ("model,bs=1,bs=2\na,5,7\n", "are values of an option, and nothing says what their cells are"),
        ("model,trial 1,trial 2\na,5,7\n", "--map 'trial [0-9]*=round:step_ms'"),
        ('{"traceEvents": [{"ph": "X", "dur": 45}]}', "a trace of single operations"),
        ("Wall time,Step,Value\n1709287331.12,0,51.4\n", "--map Value=steps_ms"),
        ("# started on Fri Mar  1\n1.5,msec,task-clock\n", "counters of perf stat"),
        ("p50_ms,latency_ms,loss\n4,5,7\n4,5,6\n", "no column tells the rows with"),
        ("batch,fwd_ms,bwd_ms\n1,5,7\n", "'fwd_ms' and 'bwd_ms' are parts of a step"),
        ("- batch: 1\n  latency_ms: 5.5\n", "YAML; write it as JSON"),
        ("{'batch': 1, 'latency_ms': 5.5}\n", "Python's repr of a dict; write it with json.dump"),
        ("<table><tr><td>1</td></tr></table>", "HTML or XML; copy its table into a CSV file"),
        (zipped(a=PLAIN, b=PLAIN), "a ZIP archive, or a spreadsheet's own format"),
        ("batch,latency_ms\n1,12 tok/s\n", "has the unit tok, which isn't one of"),
    ],
)
def test_ambiguous_or_other_text_is_refused_with_its_cause(
    tmp_path: Path, content: str | bytes, cause: str
) -> None:
    path = tmp_path / "written"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BenchtuiError) as caught:
        registry.read(path)
    assert cause in str(caught.value)


@pytest.mark.parametrize(
    ("content", "states"),
    [
        ("name,success,latency_ms\na,true,5\nb,false,1\n", ["ok", "failed"]),
        ("name,passed,latency_ms\na,1,5\nb,0,1\n", ["ok", "failed"]),
        ("name,failed,latency_ms\na,False,5\nb,True,1\n", ["ok", "failed"]),
        ("cmd,exit_code,time_s\na,0,1.5\nb,1,0.1\n", ["ok", "failed"]),
        ("name,latency_ms,error\na,5,\nb,,CUDA out of memory\nc,60,timed out\n", ["ok", "oom", "timeout"]),
    ],
)
def test_failures_that_a_column_states(imported: Any, content: str, states: list[str]) -> None:
    assert [case.state for case in imported(content).cases] == states


def test_copies_among_many_rows_are_found_at_once(tmp_path: Path) -> None:
    lines = [f"{batch},{5 + batch}" for batch in range(1, 2400)]
    path = tmp_path / "written"
    path.write_text("batch,latency_ms\n" + "\n".join([*lines, *lines]))
    assert len(registry.read(path).measurements) == len(lines)


def test_figures_of_a_wide_table_are_those_of_the_same_option(imported: Any) -> None:
    columns = [f"{of}_{what}" for what in ("latency_ms", "throughput", "gpu_mem_mb") for of in ("fp16", "int8")]
    session = imported(
        f"batch_size,{','.join(columns)},runs\n1,5.5,2.5,180,400,900,500,20\n8,22,11,360,720,950,600,20\n"
    )
    assert [
        (row.metrics.latency_ms.mean, row.metrics.samples_per_s, row.case.finished.memory.peak_device_mb)
        for row in measured(session)
    ] == [(5.5, 180, 900), (2.5, 400, 500), (22, 360, 950), (11, 720, 600)]
    assert {row.metrics.latency_ms.n for row in measured(session)} == {20}
