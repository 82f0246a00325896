"""``benchtui import``: convert another tool's results to a session."""

from pathlib import Path

import click

from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.library import operations
from benchtui.sessions.text.formatting import count
from benchtui.tui.cli.options import FILE, echo, json_option, output_option
from benchtui.tui.cli.schema.records import ImportedJson
from benchtui.tui.cli.text.output import print_json


@click.command("import")
@click.argument("source", metavar="FILE", type=FILE)
@output_option(
    "Session file to write, by default a new one in the library; no existing file is overwritten.", "path"
)
@click.option("--from", "kind", help="Tool that wrote FILE; by default detected from its content.")
@click.option(
    "--map",
    "map_text",
    metavar="MAP",
    help="Columns of FILE and what they are, such as latency_ms=step_ms,batch=batch_size; or the name of a map"
    " in import.toml in the configuration folder. What they are: step_ms, step_p99_s, first_token_median_ms,"
    " samples_per_s, tokens_per_s, peak_device_gib, batch_size, model, name, status, other options, or a name"
    " that benchtui export gives it, such as latency_p50_ms. By default, the names of the columns tell.",
)
@json_option("Print the session and what was imported as JSON.")
def import_results(
    source: Path, path: Path | None, kind: str | None, map_text: str | None, as_json: bool
) -> None:
    """Convert the results of another tool to a session.

    FILE is the output of a supported tool, such as optimum-benchmark (JSON), llama-bench, hyperfine,
    pyperf (JSON), pytest-benchmark (--benchmark-json), torch.utils.benchmark (JSON, see docs/importing.md),
    Google Benchmark (JSON), NVBench (--json), transformers' benchmark_v2 (JSON), vLLM (bench serve
    --save-result), SGLang (bench_serving), guidellm (benchmarks.json), aiperf (profile_export_aiperf.json), a
    batch-sweep runner (JSONL, or its CSV tables), a table of training runs (CSV), benchtui's own export, or any
    other table: CSV with any separator, JSON, JSON lines, Parquet or Markdown. It may be compressed with gzip
    or zstd. Anything it doesn't state stays unknown.
    """
    if path is None:
        path, imported = operations.import_results(source, kind, map_text)
    else:
        imported = registry.read(source, kind, map_text)
        session_writer.write(imported, path)
    notes = tuple(session_writer.notes(imported))
    if as_json:
        print_json(ImportedJson(session=str(path), tool=imported.kind, cases=len(imported.cases), notes=notes))
        return
    cases = count(len(imported.cases), "case")
    echo(f"{cases} from {imported.kind}; session {path}", err=True)
    echo(*notes, err=True)
