"""The schema of sweep files accepts what the reader accepts."""

import json
import tomllib
from typing import Any

import jsonschema
import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import toml_reader
from benchtui.sessions.sweep.toml_reader import parse_sweep, preset_names, read_source
from benchtui.tui.cli.schema.command import document_schema

SCHEMA = json.loads(json.dumps(document_schema("sweep")))
CHECK = jsonschema.Draft202012Validator(SCHEMA)


def accepted(table: dict[str, Any]) -> bool:
    return CHECK.is_valid(table)


@pytest.mark.parametrize("name", preset_names())
def test_presets_are_valid(name: str) -> None:
    CHECK.validate(tomllib.loads(read_source(name)[0]))


def test_schema_has_every_entry_of_the_reader() -> None:
    CHECK.check_schema(SCHEMA)
    tables = SCHEMA["$defs"]
    names = set()
    for key in tables["sweep"]["properties"]:
        children = tables[key]["properties"] if key in tables and key != "exclude" else {}
        names |= {f"{key}.{name}" for name in children} or {key}
    assert names - {"exclude"} == set(toml_reader.entries())


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("[axes]\nbatch_size = '1..8*2'", True),
        ("[axes]\nbatch_size = ['1..3', 8]", True),
        ("[axes]\nbatch_size = 'auto<=256'", True),
        ("[axes]\nbatch_size = 'many'", False),
        ("[axes]\nbatch_size = 0", False),
        ("[axes]\nprecision = ['fp32', 'bf16']", True),
        ("[axes]\nprecision = 'fp32, bf16'", True),
        ("[axes]\nprecision = 'fp31'", False),
        ("[axes]\nattention = 'kernel:kernels-community/flash-attn@main'", True),
        ("[axes]\nliger = [false, true]", True),
        ("[axes]\ncache = true", True),
        ("[axes]\ncache = 'offloaded'", False),
        ("[axes]\nenv = {OMP_NUM_THREADS = [1, 2]}", True),
        ("[axes]\ncolor = 'red'", False),
        ("[measure]\nuntil = '1%'\nmax_time = '90s'\ntimeout = '1h30m'\nwarmup = 'auto'\nmin_time = 0", True),
        ("[measure]\nrounds = 0", False),
        ("[measure]\nrounds = 101", False),
        ("[measure]\ntimeout = 'soon'", False),
        ("[measure]\nexplain = ['best']\nbaseline = {precision = 'fp32', batch_size = 1}", True),
        ("[measure]\nbaseline = {precision = 'fp31'}", False),
        ("[[exclude]]\nbatch_size = 8\nprecision = 'fp32'", True),
        ("[exclude]\nbatch_size = 8", False),
        ("[run]\nexecutor = 'ray'\nparallel = true", True),
        ("[run]\nexecutor = 'cloud'", False),
        ("[train]\noptimizer = 'sgd'\nlearning_rate = 1e-4", True),
        ("[generate]\nnew_tokens = 0", False),
        ("weights = 'good'", False),
        ("task = 'dance'", False),
    ],
)
def test_schema_and_reader_agree(text: str, valid: bool) -> None:
    text = f"model = 'm'\n{text}"
    assert accepted(tomllib.loads(text)) is valid
    if valid:
        parse_sweep(text, "here")
    else:
        with pytest.raises(BenchtuiError):
            parse_sweep(text, "here")
