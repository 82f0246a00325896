"""Training throughput under benchtui over that of a plain loop of the same model: `make bench`.

Both run in turns, pair by pair, so that a machine whose speed drifts drifts for both; what counts is the ratio
of each pair, and the median of those. The plain loop is a script that knows nothing of benchtui. Both compute
with one thread: threads that wait for one another would measure whoever else is on the machine.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click
from plain_loop import BIN, ENGINE, measured_ms

LOOP = """
import json, sys, time
import torch
from transformers import AutoConfig, AutoModelForCausalLM

torch.set_num_threads(1)
folder, batch, length, warmup, steps = sys.argv[1], *map(int, sys.argv[2:])
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
rows = torch.randint(model.config.vocab_size, (256, length))
mask = torch.ones(batch, length, dtype=torch.long)
times = []
for step in range(warmup + steps):
    begin = time.perf_counter()
    ids = rows[torch.arange(step * batch, (step + 1) * batch) % len(rows)]
    loss = model(input_ids=ids, attention_mask=mask, labels=ids, use_cache=False).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    times.append((time.perf_counter() - begin) * 1000)
print(json.dumps(times[warmup:]))
"""


def make_model(folder: Path, layers: int, vocabulary: int) -> None:
    """GPT-2 with fewer layers and a smaller vocabulary, as a folder that holds no weights."""
    config = json.loads((ENGINE / "architectures" / "gpt2" / "config.json").read_text())
    config |= {"n_layer": layers, "vocab_size": vocabulary, "bos_token_id": 0, "eos_token_id": 0}
    (folder / "config.json").write_text(json.dumps(config))


def plain_ms(model: Path, batch: int, length: int, warmup: int, steps: int) -> list[float]:
    """Step times of the plain loop, in milliseconds."""
    numbers = [str(number) for number in (batch, length, warmup, steps)]
    command = [sys.executable, "-c", LOOP, str(model), *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(time) for time in json.loads(done.stdout)]


def benchtui_ms(model: Path, batch: int, length: int, warmup: int, steps: int) -> list[float]:
    """Step times under benchtui, in milliseconds."""
    session = model / "session.json"
    session.unlink(missing_ok=True)
    settings = {"model": model, "device": "cpu", "precision": "fp32", "compile": "off", "threads": 1}
    settings |= {"batch_size": batch, "sequence_length": length, "warmup": warmup, "iterations": steps}
    overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [str(BIN / "benchtui"), "run", "gpt2-train", "-o", str(session), *overrides]
    subprocess.run(command, capture_output=True, check=True)
    return measured_ms(session)


@click.command()
@click.option("--pairs", default=7, show_default=True)
@click.option("--steps", default=30, show_default=True)
@click.option("--batch", default=2, show_default=True)
@click.option("--length", default=128, show_default=True)
@click.option("--layers", default=4, show_default=True)
@click.option("--vocabulary", default=8192, show_default=True)
def main(pairs: int, steps: int, batch: int, length: int, layers: int, vocabulary: int) -> None:
    """Print the ratio of samples per second, benchtui over the plain loop, pair by pair."""
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder)
        make_model(model, layers, vocabulary)
        for pair in range(pairs):
            runs = [benchtui_ms, plain_ms] if pair % 2 else [plain_ms, benchtui_ms]
            times_ms = {run: run(model, batch, length, 5, steps) for run in runs}
            rates = {run: 1000 * batch * steps / sum(times_ms[run]) for run in runs}
            medians = {run: statistics.median(times_ms[run]) for run in runs}
            ratios.append(rates[benchtui_ms] / rates[plain_ms])
            print(
                f"training  pair {pair + 1}/{pairs}  benchtui {rates[benchtui_ms]:8.2f}/s"
                f"  plain {rates[plain_ms]:8.2f}/s  ratio {ratios[-1]:.3f}"
                f"  of median steps {medians[plain_ms] / medians[benchtui_ms]:.3f}",
                flush=True,
            )
    print(
        f"training  ratio of throughputs: median {statistics.median(ratios):.3f},"
        f" least {min(ratios):.3f}, most {max(ratios):.3f}, {pairs} pairs"
    )


if __name__ == "__main__":
    main()
