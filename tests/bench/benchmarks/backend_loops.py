"""Step times of each backend under benchtui over those of a bare loop by hand in that backend: `make bench`.

Both run in turns of two seconds (``turns``), with the same network and number of threads. The bare loop
tokenizes, runs the network and reads its result, and knows nothing of benchtui.
"""

import sys
import tempfile
from pathlib import Path

import click
from plain_loop import ARCHITECTURE, WARMUP, loop_command, measured_ms
from turns import PlainLoop, alternate_with_sweep, print_ratios, ratio

from benchtui.engine import client
from benchtui.sessions.stored_models.hub_cache import bundled_models
from benchtui.sessions.sweep.toml_reader import load_sweep

CONVERT = """
import os
os.environ["ORT_DISABLE_TELEMETRY"], sys.modules["openvino_telemetry"] = "1", None
example = tokenizer(["one", "two"], padding="max_length", max_length=length, return_tensors="pt")
names, dynamic = list(example), torch.export.Dim.DYNAMIC
class Forward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.network = model
    def forward(self, *inputs):
        return self.network(**dict(zip(names, inputs))).logits
shapes = {"inputs": tuple({0: dynamic, 1: dynamic} for _ in names)}
with torch.no_grad():
    program = torch.export.export(
        Forward().eval(), tuple(example.values()), dynamic_shapes=shapes, strict=False
    )
threads = torch.get_num_threads()
"""
RUNTIMES = {
    "torch": "run = lambda inputs: model(**inputs).logits.cpu()",
    "aoti": CONVERT
    + """
import torch._inductor
compiled = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(program))
run = lambda inputs: compiled(*(inputs[name] for name in names))
""",
    "onnxruntime": CONVERT
    + """
import onnxruntime, tempfile
file = tempfile.mkdtemp() + "/model.onnx"
torch.onnx.export(program, dynamo=True, verbose=False).save(file)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
of = [argument.name for argument in session.get_inputs()]
run = lambda inputs: session.run(None, {key: inputs[name].numpy() for key, name in zip(of, names)})[0]
""",
    "openvino": CONVERT
    + """
import openvino
hints = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
hints |= {"INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False}
request = openvino.compile_model(openvino.convert_model(program), "CPU", hints).create_infer_request()
def run(inputs):
    request.infer({place: inputs[name].numpy() for place, name in enumerate(names)}, share_inputs=True)
    return request.get_output_tensor(0).data.copy()
""",
}


def command(backend: str, batch: int, length: int) -> list[str]:
    """Return the command of a bare loop without end: the plain loop, whose network runs in a backend."""
    python, flag, loop, *arguments = loop_command(
        sys.executable, bundled_models()[ARCHITECTURE], batch, length, 0
    )
    loop = loop.replace("model(**inputs).logits.cpu()", "run(inputs)")
    return [python, flag, loop.replace('print("ready"', f'{RUNTIMES[backend]}\nprint("ready"'), *arguments]


def run(backend: str, batch: int, length: int, steps: int) -> tuple[float, str]:
    """Run a sweep of one case and the bare loop in turns."""
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "session.json"
        settings = {
            "device": "cpu",
            "backend": backend,
            "batch_size": batch,
            "sequence_length": length,
            "warmup": WARMUP,
            "iterations": steps,
            "rounds": 1,
            "peaks": "false",
            "wait_for_quiet": "off",
        }
        bare = PlainLoop(command(backend, batch, length), Path(folder) / "bare.txt")
        client.start(load_sweep("quick", tuple(f"{key}={value}" for key, value in settings.items())), session)
        alternate_with_sweep(session, None, bare)
        return ratio(measured_ms(session), bare.end(WARMUP), ("benchtui", "bare"))


@click.command()
@click.option("--runs", default=1, show_default=True)
@click.option("--steps", default=400, show_default=True, help="At batch size 1; of larger batches fewer.")
@click.option(
    "--backend", "backends", multiple=True, type=click.Choice(list(RUNTIMES)), default=tuple(RUNTIMES)
)
@click.option("--batch", "batches", multiple=True, type=int, default=(1, 8), show_default=True)
@click.option("--length", default=128, show_default=True)
def main(runs: int, steps: int, backends: tuple[str, ...], batches: tuple[int, ...], length: int) -> None:
    """Print the ratio of median step times, benchtui over the bare loop, for each backend and batch size."""
    for backend in backends:
        for batch in batches:
            print_ratios(
                f"{backend:11} batch {batch:2}",
                runs,
                lambda backend=backend, batch=batch: run(backend, batch, length, steps // batch),
            )


if __name__ == "__main__":
    main()
