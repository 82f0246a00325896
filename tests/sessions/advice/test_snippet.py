import ast
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from benchtui.sessions.advice.snippet import no_snippet_reason, snippet
from benchtui.sessions.payloads import Data, Model
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Sweep, Train

RUN = """
import functools, json, os, sys
import torch, transformers
from benchtui.engine.models import attention, compilation, precision
from benchtui.engine.models.drafts import Drafting

compiled = []
eager = torch.compile

def compile_eagerly(module, mode=None):  # the mode is recorded; the compiler itself has its own tests
    compiled.append(mode or "default")
    return eager(module, backend="eager")

torch.compile = compile_eagerly
for name, code in json.load(sys.stdin):
    sys.stdout.flush()
    if os.fork():
        _, status = os.wait()
        if status:
            sys.exit(f"{name}: exit status {status}")
        continue
    names = {}
    exec(compile(code, name, "exec"), names)
    model = getattr(names["model"], "_orig_mod", names["model"])
    result = next(names[key] for key in ("logits", "vectors", "tokens", "loss") if key in names)
    optimizer = names.get("optimizer")
    print(json.dumps([name, {
        "weights": str(precision.stored_dtype(model)),
        "attention": attention.read_back(model),
        "threads": torch.get_num_threads(),
        "compiled": compiled if compilation.graphs() else [],
        "result": [str(result.dtype), list(result.shape)],
        "ids": list(names["inputs"]["input_ids"].shape),
        "optimizer": type(optimizer).__name__ if optimizer else None,
        "tokenizer_threads": os.environ.get("RAYON_NUM_THREADS"),
    }]), flush=True)
    os._exit(0)
"""


def measured(bench: Any, sweep: Sweep, config: Config, **options: Any) -> Session:
    case = dataclasses.replace(bench.case(1, 10.0, **options), config=config)
    session: Session = bench.session(case, sweep=sweep)
    return session


def code_of(bench: Any, sweep: Sweep, config: Config, **options: Any) -> str:
    session = measured(bench, sweep, config, **options)
    code = snippet(session, session.cases[0])
    assert code is not None, no_snippet_reason(session, session.cases[0])
    return code


def read_back(snippets: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(list(snippets.items())),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(line) for line in done.stdout.splitlines())


def test_snippet_runs_with_the_options_of_its_case(bench: Any, trained_model: Path, tiny_model: Path) -> None:
    trained = Sweep(name="trained", model=str(trained_model), task="lm-forward")
    untrained = Sweep(name="random", model=str(tiny_model), weights="random")
    base = Config(device="cpu", batch_size=2, sequence_length=16, threads=1)
    found = read_back(
        {
            "plain": code_of(bench, trained, base),
            "bf16": code_of(bench, trained, replace(base, precision="bf16", attention="eager", batch_size=3)),
            "autocast": code_of(bench, trained, replace(base, precision="amp-bf16", padding="longest")),
            "math": code_of(bench, trained, replace(base, attention="sdpa-math", threads=2)),
            "compiled": code_of(bench, trained, replace(base, compile="max-autotune", attention="sdpa")),
            "packed": code_of(bench, trained, replace(base, padding="packed")),
            "random": code_of(bench, untrained, replace(base, attention="eager", tokenizer_threads=2)),
            "int8": code_of(bench, untrained, replace(base, precision="int8")),
            "synthetic": code_of(bench, replace(trained, dataset="synthetic"), base),
            "embed": code_of(bench, replace(trained, task="embed"), replace(base, pooling="last")),
            "generate": code_of(
                bench, replace(trained, task="generate"), replace(base, new_tokens=4, compile="default")
            ),
            "static": code_of(
                bench,
                replace(trained, task="generate"),
                replace(base, new_tokens=4, cache="static", attention="sdpa"),
            ),
            "lookup": code_of(
                bench,
                replace(trained, task="generate"),
                replace(base, batch_size=1, draft="lookup:3", new_tokens=4),
            ),
            "train": code_of(
                bench,
                replace(trained, task="lm-train", train=Train(accumulation=2)),
                replace(base, optimizer="adamw-foreach", activation_checkpointing="on"),
            ),
        }
    )
    vocabulary = 320
    assert found["plain"] == {
        "weights": "torch.float32",
        "attention": "sdpa",
        "threads": 1,
        "compiled": [],
        "result": ["torch.float32", [2, 16, vocabulary]],
        "ids": [2, 16],
        "optimizer": None,
        "tokenizer_threads": "1",
    }
    assert found["bf16"] | {"threads": None} == found["plain"] | {
        "threads": None,
        "weights": "torch.bfloat16",
        "attention": "eager",
        "ids": [3, 16],
        "result": ["torch.bfloat16", [3, 16, vocabulary]],
    }
    assert found["autocast"]["weights"] == "torch.float32"
    assert found["autocast"]["result"][0] == "torch.bfloat16"
    assert found["autocast"]["ids"][1] < 16
    assert (found["math"]["attention"], found["math"]["threads"]) == ("sdpa-math", 2)
    assert found["compiled"]["compiled"] == ["max-autotune"]
    assert found["packed"]["ids"][0] == 1
    assert found["random"]["attention"] == "eager"
    assert found["random"]["result"] == ["torch.float32", [2, 2]]
    assert (found["random"]["threads"], found["random"]["tokenizer_threads"]) == (1, "2")
    assert found["int8"]["weights"] == "torch.qint8"
    assert found["synthetic"]["ids"] == [2, 16]
    assert found["embed"]["result"] == ["torch.float32", [2, 64]]
    assert found["generate"]["compiled"] == ["default"]
    assert found["generate"]["result"][1][1] > 16
    assert found["static"]["compiled"] == []
    assert found["lookup"]["result"][1][1] > 16
    assert found["train"]["optimizer"] == "AdamW"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("bnb-nf4", "load_in_4bit=True"),
        ("bnb-int8", "load_in_8bit=True"),
        ("torchao-int8-dynamic", "Int8DynamicActivationInt8WeightConfig()"),
        ("torchao-int4", "Int4WeightOnlyConfig(group_size=128)"),
    ],
)
def test_snippet_quantizes_as_its_case_did(bench: Any, kind: str, expected: str) -> None:
    config = Config(device="cuda:0", precision="bf16", quantization=kind, compile="reduce-overhead")
    code = code_of(bench, Sweep(name="quantized", model="org/model", task="lm-forward"), config)
    ast.parse(code)
    assert expected in code
    assert "dtype=torch.bfloat16" in code
    assert 'torch.compile(model, mode="reduce-overhead")' in code.replace("'", '"')
    assert ("device_map=DEVICE" in code) is kind.startswith("bnb-")


def test_snippet_names_variables_and_tf32(bench: Any) -> None:
    sweep = Sweep(name="a", model="org/model", env={"OMP_WAIT_POLICY": "passive", "NOTE": "two\nlines"})
    config = Config(device="cuda:1", precision="tf32", env="MALLOC_ARENA_MAX=2")
    code = code_of(bench, sweep, config)
    ast.parse(code)
    assert "env OMP_WAIT_POLICY=passive NOTE=$'two\\x0alines' MALLOC_ARENA_MAX=2 python FILE" in code
    assert 'torch.set_float32_matmul_precision("high")' in code
    assert "allow_tf32 = True" in code


@given(text=st.text(max_size=30))
@example("\nraise SystemExit(9)\n")
@example("\r\x0braise SystemExit(9)")
@example("\u2028raise SystemExit(9)\x85")
@example('"); raise SystemExit(9) #')
@example("'); raise SystemExit(9) #")
@example("{{ 7 * 7 }}{% raise %}")
@example("\\")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_text_of_a_session_never_becomes_code(bench: Any, text: str) -> None:
    nodes = list(ast.walk(ast.parse(_code(bench, f"a{text}"))))
    plain = ast.walk(ast.parse(_code(bench, "plain")))
    assert [type(node) for node in nodes] == [type(node) for node in plain]
    strings = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert strings.count(f"a{text}") == 4  # model, attention, mode of compilation, draft


def _code(bench: Any, text: str) -> str:
    """Return the code of a case whose names are all this text."""
    sweep = Sweep(name=text, model=text, task="generate", env={text: text})
    config = Config(device="cpu", attention=text, compile=text, draft=text, env=text, cache=text)
    model = Model(name=text, architecture=text, weights="pretrained", source="hub")
    return code_of(bench, sweep, config, model=model)


@pytest.mark.parametrize(
    ("sweep", "config", "reason"),
    [
        ({"task": "own.py:make"}, {}, "own.py:make"),
        ({"task": "serve-batch"}, {}, "serve-batch"),
        ({"task": "image"}, {}, "no image processor"),
        ({}, {"label": "pp512"}, "imported"),
        ({"weights": "random"}, {"quantization": "bnb-nf4"}, "random"),
        ({"task": "generate"}, {"quantization": "torchao-int8"}, "Conv1D"),
    ],
)
def test_case_without_a_snippet_has_a_reason_of_one_line(
    bench: Any, sweep: dict[str, Any], config: dict[str, Any], reason: str
) -> None:
    model = Model(name="gpt2", architecture="GPT2LMHeadModel", weights="pretrained", source="hub")
    session = measured(
        bench, Sweep(name="a", model="gpt2", **sweep), Config(device="cpu", **config), model=model
    )
    case = session.cases[0]
    assert snippet(session, case) is None
    stated = no_snippet_reason(session, case)
    assert stated is not None
    assert reason in stated
    assert "\n" not in stated


def test_image_snippet_processes_images(bench: Any) -> None:
    data = Data(dataset="synthetic", samples=4, processor="ViTImageProcessor")
    sweep = Sweep(name="a", model="vit", task="image", dataset="synthetic")
    code = code_of(bench, sweep, Config(device="cpu", sequence_length=0), prepared={"data": data})
    ast.parse(code)
    assert "AutoImageProcessor" in code
    assert "SEQUENCE_LENGTH" not in code
