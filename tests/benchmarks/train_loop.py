"""Training steps under benchtui over those of a plain loop of the same model: `make bench`.

Both run in turns of two seconds (``turns``). The plain loop is a script that knows nothing of benchtui. Both
compute with one thread: threads that wait for one another would measure whoever else is on the machine.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import click
from plain_loop import BIN, ENGINE, WARMUP, measured_ms
from turns import PlainLoop, ratio, summed_up, take_turns

LOOP = """
import sys, time
import torch
from transformers import AutoConfig, AutoModelForCausalLM

torch.set_num_threads(1)
folder, batch, length = sys.argv[1], *map(int, sys.argv[2:])
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
rows = torch.randint(model.config.vocab_size, (256, length))
mask = torch.ones(batch, length, dtype=torch.long)
print("ready", flush=True)
for step in range(sys.maxsize):
    begin = time.perf_counter()
    ids = rows[torch.arange(step * batch, (step + 1) * batch) % len(rows)]
    loss = model(input_ids=ids, attention_mask=mask, labels=ids, use_cache=False).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print((time.perf_counter() - begin) * 1000, flush=True)
"""


def make_model(folder: Path, layers: int, vocabulary: int) -> None:
    """GPT-2 with fewer layers and a smaller vocabulary, as a folder that holds no weights."""
    config = json.loads((ENGINE / "architectures" / "gpt2" / "config.json").read_text())
    config |= {"n_layer": layers, "vocab_size": vocabulary, "bos_token_id": 0, "eos_token_id": 0}
    (folder / "config.json").write_text(json.dumps(config))


def run(model: Path, batch: int, length: int, steps: int) -> tuple[float, str]:
    """A run under benchtui, without a screen, against the plain loop."""
    session = model / "session.json"
    session.unlink(missing_ok=True)
    plain = PlainLoop([sys.executable, "-c", LOOP, str(model), str(batch), str(length)], model / "plain.txt")
    settings = {"model": model, "device": "cpu", "precision": "fp32", "compile": "off", "threads": 1}
    settings |= {"batch_size": batch, "sequence_length": length, "warmup": WARMUP, "iterations": steps}
    overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [str(BIN / "benchtui"), "run", "gpt2-train", "-o", str(session), *overrides]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        take_turns(session, None, plain)
    return ratio(measured_ms(session), plain.end(WARMUP))


@click.command()
@click.option("--runs", default=5, show_default=True)
@click.option("--steps", default=100, show_default=True)
@click.option("--batch", default=2, show_default=True)
@click.option("--length", default=64, show_default=True)
@click.option("--layers", default=4, show_default=True)
@click.option("--vocabulary", default=8192, show_default=True)
def main(runs: int, steps: int, batch: int, length: int, layers: int, vocabulary: int) -> None:
    """Print the ratio of median training steps, benchtui over the plain loop, run by run."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder)
        make_model(model, layers, vocabulary)
        summed_up("training", runs, lambda: run(model, batch, length, steps))


if __name__ == "__main__":
    main()
