"""A checkpoint made in seconds: a GPT-2 of two narrow layers, trained on bundled texts, with its tokenizer.

Random weights have almost uniform outputs, which no quantization changes much. Sixty steps on four short texts
are enough for outputs of some certainty.
"""

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

SAMPLE = Path(__file__).parents[1] / "engine" / "workloads" / "inputs" / "data" / "sample.jsonl"
END = "<|end|>"
TEXTS, CHARACTERS = 4, 600
"""Texts to train on, each from its beginning: the first ones, with which answers are made."""
VOCABULARY = 320
STEPS, ROWS, LENGTH = 60, 16, 32


def save_trained(folder: Path) -> None:
    """Train model and tokenizer, and save both. The same numbers each time."""
    lines = SAMPLE.read_text("utf-8").splitlines()[:TEXTS]
    texts = [json.loads(line)["text"][:CHARACTERS] for line in lines]
    tokenizer = _tokenizer(texts)
    ids = torch.tensor(tokenizer(END.join(texts))["input_ids"])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several would wait for one another on a busy machine
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = _trained(ids)
    torch.set_num_threads(threads)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Byte-level BPE, as GPT-2's."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END, bos_token=END)


def _trained(ids: torch.Tensor) -> GPT2LMHeadModel:
    sizes = {"n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": VOCABULARY, "n_positions": 128}
    dropout = dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0)
    config = GPT2Config(**sizes, **dropout, initializer_range=0.1, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(STEPS):
        starts = torch.randint(len(ids) - LENGTH, (ROWS,)).tolist()
        rows = torch.stack([ids[start : start + LENGTH] for start in starts])
        model(input_ids=rows, labels=rows).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()
