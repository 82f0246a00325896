"""What people type from habit: names of other libraries and misspellings, and what each leads to."""

from collections.abc import Sequence

ACCEPTED = (
    ("dtype=bfloat16", "precision", ("bf16",)),
    ("torch_dtype=bf16", "precision", ("bf16",)),
    ("torch_dtype=torch.float16", "precision", ("fp16",)),
    ("precision=float16", "precision", ("fp16",)),
    ("precision=bfloat16", "precision", ("bf16",)),
    ("precision=half", "precision", ("fp16",)),
    ('precision=["float32", "bfloat16"]', "precision", ("fp32", "bf16")),
    ("precision=amp", "precision", ("amp-bf16",)),
    ("axes.dtype=float16", "precision", ("fp16",)),
    ("attention=flash_attention_2", "attention", ("flash",)),
    ("attention=flash_attention_3", "attention", ("flash3",)),
    ("attn_implementation=sdpa", "attention", ("sdpa",)),
    ("attn=eager,flex_attention", "attention", ("eager", "flex")),
    ("compile=true", "compile", ("default",)),
    ("compile=True", "compile", ("default",)),
    ("compile=false", "compile", ("off",)),
    ("compile=None", "compile", ("off",)),
    ("compile=yes", "compile", ("default",)),
    ("compile=[false, true]", "compile", ("off", "default")),
    ("torch_compile=max-autotune", "compile", ("max-autotune",)),
    ("quant=none", "quantization", ("off",)),
    ("quantization=false", "quantization", ("off",)),
    ("quantization=nf4", "quantization", ("bnb-nf4",)),
    ("bs=4", "batch_size", (4,)),
    ("batch=4", "batch_size", (4,)),
    ("batch-size=1..4*2", "batch_size", (1, 2, 4)),
    ("BATCH_SIZE=4", "batch_size", (4,)),
    ("per_device_train_batch_size=8", "batch_size", (8,)),
    ("per_device_eval_batch_size=8", "batch_size", (8,)),
    ("seq=64", "sequence_length", (64,)),
    ("seq_len=64", "sequence_length", (64,)),
    ("max_length=64", "sequence_length", (64,)),
    ("max_seq_length=64", "sequence_length", (64,)),
    ("pad=max_length", "padding", ("max",)),
    ("padding=true", "padding", ("longest",)),
    ("num_threads=2", "threads", (2,)),
    ("device=gpu", "device", ("cuda:0",)),
    ("assistant_model=gpt2", "draft", ("gpt2",)),
    ("draft=false", "draft", ("off",)),
    ("cache_implementation=static", "cache", ("static",)),
    ("precision=FP16", "precision", ("fp16",)),
    ("precision=bf-16", "precision", ("bf16",)),
    ("precision=torch.half", "precision", ("fp16",)),
    ("precision=16-mixed", "precision", ("amp-fp16",)),
    ("precisions=fp32,bf16", "precision", ("fp32", "bf16")),
    ("attention=SDPA", "attention", ("sdpa",)),
    ("attention=sdpa_flash", "attention", ("sdpa-flash",)),
    ("attention=flash_attention2", "attention", ("flash",)),
    ("attention=fa2", "attention", ("flash",)),
    ("attention=mem_efficient", "attention", ("sdpa-efficient",)),
    ("compile=reduce_overhead", "compile", ("reduce-overhead",)),
    ("compile=1", "compile", ("default",)),
    ("compile=inductor", "compile", ("default",)),
    ("backend=ort", "backend", ("onnxruntime",)),
    ("runtime=OpenVINO", "backend", ("openvino",)),
    ("quantization=4bit", "quantization", ("bnb-nf4",)),
    ("batch_sizes=1,2", "batch_size", (1, 2)),
    ("bsz=4", "batch_size", (4,)),
    ("prompt_len=64", "sequence_length", (64,)),
    ("input_lengths=64", "sequence_length", (64,)),
    ("intra_op_num_threads=2", "threads", (2,)),
    ("n_threads=2", "threads", (2,)),
    ("device=GPU:1", "device", ("cuda:1",)),
    ("padding=packing", "padding", ("packed",)),
    ("lora=8", "lora", ("r8",)),
    ("pooling_mode=mean_tokens", "pooling", ("mean",)),
)
"""Habits with the axis that they set."""
SETTINGS = tuple((habit, f"axes.{axis}", values) for habit, axis, values in ACCEPTED)
"""The same with the dotted name of the entry."""
OF_SWEEP = (
    ("model_id=gpt2", "model", "gpt2"),
    ("pretrained_model_name_or_path=gpt2", "model", "gpt2"),
    ("task=text-classification", "task", "classify"),
    ("task=feature-extraction", "task", "embed"),
    ("task=sentence-similarity", "task", "embed"),
    ("task=text-generation", "task", "generate"),
    ("generate.max_new_tokens=5", "generate.new_tokens", 5),
    ("max_new_tokens=5", "generate.new_tokens", 5),
    ("gradient_checkpointing=true", "train.activation_checkpointing", True),
    ("gradient_accumulation_steps=4", "train.accumulation", 4),
    ("lr=1e-4", "train.learning_rate", 1e-4),
    ("optim=adamw_torch_fused", "train.optimizer", "adamw-fused"),
    ("train.optimizer=adamw_bnb_8bit", "train.optimizer", "adamw-8bit"),
    ("max_steps=9", "measure.iterations", 9),
    ("steps=9", "measure.iterations", 9),
    ("warmup-steps=3", "measure.warmup", 3),
    ("model_path=gpt2", "model", "gpt2"),
    ("task=Text_Classification", "task", "classify"),
    ("task=fine-tuning", "task", "lm-train"),
    ("task=transcribe", "task", "speech"),
    ("max_new_token=5", "generate.new_tokens", 5),
    ("max_tokens=5", "generate.new_tokens", 5),
    ("grad_accum=4", "train.accumulation", 4),
    ("optim=AdamW_Torch", "train.optimizer", "adamw"),
    ("num_iters=9", "measure.iterations", 9),
    ("n_warmup=3", "measure.warmup", 3),
)
"""Habits with the entry that they set."""
ANSWERED = (
    ("dtyp=bf16", "did you mean 'precision'?"),
    ("torch_dtyp=bf16", "did you mean 'precision'?"),
    ("atention=sdpa", "did you mean 'attention'?"),
    ("batch_sise=4", "did you mean 'batch_size'?"),
    ("precision=bfloat61", "did you mean 'bf16'?"),
    ("task=text-clasification", "did you mean 'classify'?"),
    ("precision=int4", 'write quantization = "torchao-int4" or "bnb-nf4"'),
    ("quantization=int8", 'bnb-int8 or torchao-int8; dynamic on a CPU: precision = "int8"'),
    ("fp16=true", 'write precision = "fp16"'),
    ("load_in_4bit=true", 'write quantization = "bnb-nf4"'),
    ("use_cache=false", "generation always uses a cache"),
    ("num_train_epochs=3", "write iterations, a number of steps"),
    ("num_workers=4", "write a key of parameters, for your own step"),
    ("precison=bf16", "did you mean 'precision'?"),
    ("squence_length=4", "did you mean 'sequence_length'?"),
    ("compile=max-autotun", "did you mean 'max-autotune'?"),
    ("sdpa=true", 'write attention = "sdpa"'),
    ("inductor=true", 'write compile = "default"'),
    ("precision=nf4", 'write quantization = "bnb-nf4"'),
    ("precision=16", "fp16, or amp-fp16"),
    ("backend=inductor", 'write compile = "default"'),
    ("attention=xformers", "sdpa-efficient"),
    ("quantization=gptq", "write checkpoint"),
    ("task=fill-mask", "embed measures its model"),
    ("task=causal-lm", "lm-forward, lm-train or generate"),
    ("task=summarization", "only speech has an encoder and a decoder"),
    ("num_runs=3", "iterations for steps, rounds for processes"),
    ("num_tokens=4", "sequence_length, or new_tokens"),
    ("time_limit=10s", "max_time for a case, budget for a sweep"),
    ("tensor_parallel_size=2", "a case runs on one device"),
    ("axes.max_steps=4", "it belongs to [measure], as iterations"),
    ("measure.lr=4", "it belongs to [train], as learning_rate"),
)
"""Habits that aren't accepted, with their answer."""


def parts(habit: str) -> tuple[str, str, str]:
    """Return table, name and text of a habit that is written as for ``--set``; the table may be empty."""
    key, _, text = habit.partition("=")
    table, _, name = key.rpartition(".")
    return table, name, text


def as_toml(habit: str, entry: str) -> str:
    """Return a habit as a line of a TOML file, in the table of the entry that it stands for."""
    _, name, text = parts(habit)
    home = entry.rpartition(".")[0]
    plain = text.replace(".", "", 1).replace("e-", "").isdigit() or text[0] in '["' or text in ("true", "false")
    values: str | Sequence[str] = text.split(",") if "," in text and text[0] != "[" else text
    value = text if plain else f'"{text}"' if isinstance(values, str) else str(list(values)).replace("'", '"')
    return f"[{home}]\n{name} = {value}\n" if home else f"{name} = {value}\n"
