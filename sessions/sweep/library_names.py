"""Names of torch, transformers and other libraries: for entries and values of a sweep, and what they load."""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from benchtui.sessions.sweep.options import BY_NAME, OPTIONS, SWITCH, Option
from benchtui.sessions.sweep.ranges import Words, american, nearest, plain

WEIGHTS_DTYPES = {"fp16": "float16", "bf16": "bfloat16"}
"""Torch's dtype of the weights by precision; any other precision has ``float32`` weights."""
AUTOCAST_DTYPES = {"amp-fp16": "float16", "amp-bf16": "bfloat16"}
"""Torch's dtype of autocast by precision."""

IMPLEMENTATIONS = {
    "auto": None,
    "flash": "flash_attention_2",
    "flash3": "flash_attention_3",
    "flex": "flex_attention",
}
"""Transformers' names of implementations, where they differ. None leaves the choice to transformers."""
SDPA_KERNELS = {
    "sdpa-math": "math",
    "sdpa-flash": "flash",
    "sdpa-efficient": "mem_efficient",
    "sdpa-cudnn": "cudnn",
}
"""Torch's names of the kernels of ``scaled_dot_product_attention``."""

TORCHAO_CONFIGS: dict[str, tuple[str, dict[str, int]]] = {
    "torchao-int8": ("Int8WeightOnlyConfig", {}),
    "torchao-int8-dynamic": ("Int8DynamicActivationInt8WeightConfig", {}),
    "torchao-int4": ("Int4WeightOnlyConfig", {"group_size": 128}),
    "torchao-fp8": ("Float8DynamicActivationFloat8WeightConfig", {}),
}
"""Torchao's configuration class with its arguments by quantization."""

AUTO_CLASSES = {
    "classify": "AutoModelForSequenceClassification",
    "lm-forward": "AutoModelForCausalLM",
    "lm-train": "AutoModelForCausalLM",
    "generate": "AutoModelForCausalLM",
    "embed": "AutoModel",
    "image": "AutoModelForImageClassification",
}
"""Transformers' class that loads the model of a task."""

ADAMW_ARGUMENTS: dict[str, dict[str, Any]] = {
    "adamw": {"fused": False, "foreach": False},
    "adamw-fused": {"fused": True},
    "adamw-foreach": {"foreach": True},
}
"""Arguments of torch's AdamW by optimizer."""


def lora_arguments(rank: str) -> dict[str, int | str]:
    """Return the arguments of peft's ``LoraConfig`` for a rank such as ``r8``."""
    size = int(rank.removeprefix("r"))
    return {"r": size, "lora_alpha": 2 * size, "target_modules": "all-linear", "task_type": "CAUSAL_LM"}


def _by_name(names: Mapping[str, str]) -> dict[str, str]:
    """Return meanings by name. They are written with their names, which spaces separate."""
    return {name: meaning for meaning, several in names.items() for name in several.split()}


_PRINTED = {
    prefix: option.name for option in OPTIONS if (prefix := option.prefix[:-1]) not in ("", option.name)
}
"""Options by their abbreviations in case names, such as ``bs``."""
_ENTRIES = _PRINTED | _by_name(
    {
        "name": "run_name experiment experiment_name",
        "model": "model_id model_name model_path model_name_or_path pretrained_model_name_or_path checkpoint "
        "repo repo_id arch architecture m",
        "dataset": "dataset_name dataset_path data data_files train_file",
        "device": "accelerator hardware target platform",
        "precision": "dtype torch_dtype data_type",
        "task": "pipeline_tag",
        "quantization": "quantization_config quantize quant_method quantization_method",
        "attention": "attn_implementation attention_implementation attn_impl attn_backend attention_backend "
        "attention_type",
        "compile": "torch_compile compile_mode torch_compile_mode dynamo_backend torchdynamo "
        "dynamo_mode torch_compile_backend",
        "backend": "runtime engine inference_engine framework provider execution_provider",
        "cache": "cache_implementation kv_cache kv_cache_type",
        "draft": "assistant_model draft_model speculative_model",
        "liger": "liger_kernel",
        "pooling": "pooling_mode pooling_strategy",
        "optimizer": "optim",
        "learning_rate": "lr",
        "activation_checkpointing": "gradient_checkpointing grad_checkpointing grad_checkpoint recompute",
        "accumulation": "gradient_accumulation_steps gradient_accumulation grad_accum_steps grad_accum "
        "ga_steps",
        "new_tokens": "max_new_tokens max_tokens max_completion_tokens max_output_tokens "
        "output_length output_len gen_len osl decode_steps generated_tokens gen_tokens "
        "n_predict num_predict n_gen random_output_len",
        "batch_size": "batch bsz per_device_train_batch_size per_device_eval_batch_size per_gpu_batch_size "
        "train_batch_size eval_batch_size train_bs eval_bs micro_batch micro_batch_size mbs max_batch_size "
        "max_num_seqs batch_size_per_device samples_per_gpu b train_micro_batch_size_per_gpu "
        "micro_batch_size_per_gpu",
        "sequence_length": "max_length max_seq_length max_seq_len seq_len seq_length sequence_len input_length "
        "input_len prompt_length prompt_len context_length isl max_model_len model_max_length n_ctx num_ctx "
        "ctx_size n_prompt max_position_embeddings n_positions max_input_length random_input_len model_len "
        "ctx_len s l sl",
        "threads": "intra_op_num_threads omp_num_threads torch_num_threads cpu_threads threads_batch "
        "cores cpu_cores cpus",
        "parameters": "params",
        "env": "environment",
        "iterations": "iters iter max_steps steps number loops",
        "min_time": "min_run_time benchtime",
        "rounds": "repeats repeat repetitions reps",
        "warmup": "warmup_steps warmup_iters warmup_iterations warmup_runs num_iters_warmup",
        "retries": "retry max_retries",
    }
)
"""Entries of a sweep by the names that other libraries and tools have for them."""
_HINTS = _by_name(
    {
        'write precision = "int8" or quantization = "bnb-int8"': "int8",
        "write quantization": "bits num_bits wbits w_bits",
        'write quantization = "bnb-int8"': "load_in_8bit",
        'write quantization = "bnb-nf4"': "load_in_4bit",
        'write attention = "flash"': "use_flash_attention_2 fa",
        'write draft = "lookup:N"': "prompt_lookup_num_tokens num_speculative_tokens",
        'write device = "cpu"': "cpu use_cpu no_cuda",
        'write device = "cuda:0", or "cpu"': "device_map cuda use_cuda gpu gpu_id main_gpu "
        "cuda_visible_devices n_gpu_layers ngl",
        'write device = "cuda:*"': "gpus num_gpus gpu_ids",
        "a case runs on one device; machine names nodes": "nodes tp tensor_parallel_size pp "
        "pipeline_parallel_size data_parallel_size world_size nproc_per_node num_processes ddp fsdp deepspeed "
        "zero_stage zero_optimization zero3_init_flag stage offload cpu_offload offload_folder "
        "offload_optimizer offload_param split_mode dp tensor_parallel pipeline_parallel distributed_type "
        "num_machines machine_rank multi_gpu main_process_port main_process_ip ddp_find_unused_parameters "
        "communication_data_type",
        'write weights = "pretrained"': "pretrained",
        'write weights = "random"': "random random_weights no_weights dummy_weights",
        'write padding = "packed"': "sample_packing varlen variable_length",
        'write padding = "longest"': "group_by_length",
        'write backend = "onnxruntime"': "export opset onnx_opset export_onnx",
        'write lora = "r8"': "peft peft_type adapter lora_r lora_rank lora_alpha r rank",
        'write draft = "lookup:N", or a model': "speculative_config speculative_decoding",
        'write compile = "off"': "enforce_eager no_compile",
        'write compile = "reduce-overhead"': "cuda_graph cuda_graphs cudagraphs use_cuda_graph use_cuda_graphs",
        'write precision = "tf32"': "allow_tf32 matmul_precision float32_matmul_precision",
        'write precision = "amp-bf16" or "amp-fp16"': "mixed_precision fp16_opt_level opt_level "
        "half_precision_backend",
        'write attention, such as "sdpa-flash"': "sdpa_kernel sdp_kernel kernel",
        'write attention = "sdpa"': "bettertransformer better_transformer use_sdpa",
        'write batch_size = "auto", the largest that fits': "gpu_memory_utilization max_memory memory_fraction "
        "auto_find_batch_size find_batch_size",
        "set HF_HOME before you start benchtui": "cache_dir hf_home",
        "set HF_HUB_OFFLINE=1 before you start benchtui": "local_files_only offline",
        "run hf auth login, or set HF_TOKEN": "token hf_token use_auth_token",
        "code from a model's repository is never run": "trust_remote_code",
        "keys and values have the precision of the model": "kv_cache_dtype cache_dtype ctk ctv cache_type_k "
        "cache_type_v type_k type_v",
        "it sends no requests to servers; import reads what their benchmarks measured": "request_rate qps "
        "concurrency max_concurrency num_prompts prefix_caching enable_prefix_caching chunked_prefill "
        "enable_chunked_prefill max_num_batched_tokens swap_space host port goodput burstiness stream "
        "streaming served_model_name continuous_batching max_batch_tokens disable_log_stats",
        "only lm-train computes gradients": "no_grad inference_mode eval eval_mode",
        "write threads, and other variables under env": "inter_op_num_threads num_interop_threads "
        "interop_threads interop",
        "write padding and sequence_length": "truncation pad_to_multiple_of padding_side pad_token",
        "name the file with -o": "output output_dir output_file out overwrite force",
        "each case runs in a process": "launcher isolation process_isolation",
        "other processes are noticed; wait_for_quiet waits until they end": "device_isolation "
        "device_isolation_action",
        "write task": "scenario use_case library model_type model_class auto_class",
        "loading isn't part of a step": "hub_kwargs low_cpu_mem_usage use_safetensors load_format mmap no_mmap",
        "an option of the command, see benchtui run --help": "verbose verbosity quiet log_level debug",
        "write dataset = NAME:CONFIG:SPLIT": "split dataset_config dataset_config_name subset",
        "write explain": "profile profiler profiling flops_profiler wall_clock_breakdown",
        "intervals are of 95 %, verdicts need 99 %": "ci confidence confidence_level alpha",
        "the tokenizer is the model's": "tokenizer tokenizer_name tokenizer_kwargs processor processor_kwargs",
        "download it and name its folder": "revision hub_revision",
        "generation always uses a cache; cache sets its kind": "use_cache use_kv_cache",
        "generation is greedy": "do_sample temperature top_p top_k k num_beams beams greedy best_of "
        "beam_size beam_width",
        "new_tokens is the length, whatever the model generates": "ignore_eos stop eos_token_id min_new_tokens",
        "write a key of parameters, for your own step": "num_workers dataloader_num_workers pin_memory "
        "prefetch_factor weight_decay max_grad_norm gradient_clipping lr_scheduler_type scheduler "
        "memory_format channels_last use_reentrant cudnn_benchmark deterministic "
        "use_deterministic_algorithms prepare setup cleanup normalize normalize_embeddings fullgraph dynamic "
        "dynamo_use_dynamic dynamo_use_fullgraph torch_compile_options options dataloader_drop_last "
        "dataloader_pin_memory dataloader_persistent_workers dataloader_prefetch_factor drop_last "
        "persistent_workers warmup_ratio adam_beta1 adam_beta2 adam_epsilon betas momentum "
        "label_smoothing_factor neftune_noise_alpha",
        "a number of steps is iterations, of processes rounds, of generated tokens new_tokens": "n",
        "threads or sequence_length": "t",
        "write sequence_length": "p depth n_depth context",
        "write device, or sequence_length for a depth": "d",
        "write sequence_length and new_tokens": "pg",
        "a step computes its batch at once; write batch_size": "ub ubatch ubatch_size n_ubatch",
        "-o names the file; compile and backend optimize the model": "o",
        "the dataset's texts are read, and no other column": "remove_unused_columns text_column "
        "text_column_name column_names",
        "an option of the app, see benchtui --help and benchtui themes": "style color colors theme",
        'write until = "1%" for the width of an interval, max_time for a time; '
        "the machine is read every 0.25 s": "interval sampling_interval sample_interval polling_interval "
        "poll_interval",
        'write until = "1%", the width of the interval at which a case ends': "patience early_stopping "
        "tolerance convergence error rel_error relative_error target_error stability stability_percentage "
        "stop_when_stable",
        "every session has it; benchtui optimal --objective chooses by it": "latency throughput memory energy "
        "metrics metric percentiles percentile_metrics ttft tpot itl tokens_per_second",
        "benchtui optimal --objective, or benchtui find": "objective optimize optimize_for",
        "benchtui optimal --max-latency or --max-p99 limits it": "slo sla latency_threshold max_latency "
        "max_p99",
        "only steps are timed; nothing is saved, evaluated or logged between them": "save_steps eval_steps "
        "logging_steps save_strategy eval_strategy logging_strategy logging_dir save_total_limit "
        "load_best_model_at_end steps_per_print",
        "export the session afterward: benchtui export --help": "report_to push_to_hub project export_json "
        "export_csv export_markdown",
        "start benchtui under taskset, numactl or nice": "numactl numa numa_node cpu_affinity affinity taskset "
        "pin cpuset core_list nice priority",
        "nvidia-smi sets it, and the session records it": "power_limit power_cap clock clocks lock_clocks "
        "gpu_clock persistence_mode",
        "wait_below waits for a cooler GPU, wait_for_quiet for other processes": "cooldown cool_down sleep "
        "pause delay gap wait",
        'benchtui times steps of Python: task = "FILE.py:FUNCTION"': "shell command command_name show_output "
        "ignore_failure timeit",
        "the architecture is the model's: name a folder with its config.json": "layers hidden_layers "
        "num_hidden_layers n_layer hidden_size hidden_dim d_model num_attention_heads heads vocab_size",
        "images have the size that the model takes": "image_size resolution img_size",
        "write dataset, such as a file of texts": "text texts input inputs prompts",
        "options of a runtime are its defaults": "optimization_level graph_optimization_level provider_options "
        "num_streams performance_hint session_options",
        "write env, such as PYTORCH_CUDA_ALLOC_CONF": "torch_empty_cache_steps empty_cache allocator",
        "outliers are marked and kept": "outliers outlier remove_outliers",
        'a step is synchronized; mode = "throughput" synchronizes blocks of steps': "sync synchronize "
        "cuda_sync cuda_synchronize",
        "a failed case doesn't end a sweep": "keep_going fail_fast",
        "run benchtui plan": "dry_run",
        "benchtui run --resume SESSION": "resume resume_from_checkpoint",
        "write name, or benchtui sessions note": "notes tag tags label title description comment",
        "times are in milliseconds": "time_unit",
        "write iterations, a number of steps": "epochs num_epochs num_train_epochs",
        "write iterations for steps, rounds for processes": "runs num_runs n_runs nruns trials "
        "min_runs max_runs benchmark_runs",
        "write batch_size, and iterations for steps": "samples num_samples max_samples max_train_samples",
        "write sequence_length, or new_tokens for generated ones": "tokens num_tokens n_tokens block_size",
        "write max_time for a case, budget for a sweep": "duration measurement_interval time_limit "
        "max_duration seconds max_seconds num_seconds minutes max_minutes",
        "inputs and random weights have a fixed seed": "seed random_seed random_state",
    }
)
"""What to write for names that stand for no entry. Names of values are answered with their option."""

_VALUES = {
    "fp32": "float32 float f32 single 32 32-true",
    "fp16": "float16 half f16 16-true",
    "bf16": "bfloat16 bfloat bf16-true",
    "amp-fp16": "16-mixed fp16-mixed mixed-float16",
    "amp-bf16": "amp autocast bf16-mixed mixed-bf16 mixed-bfloat16",
    "bnb-int8": "8bit bnb-8bit bitsandbytes-8bit bitsandbytes-int8 llm.int8",
    "bnb-nf4": "nf4 4bit bnb-4bit bitsandbytes-4bit bitsandbytes-nf4",
    "torchao-int8": "int8wo int8-weight-only",
    "torchao-int8-dynamic": "int8dq int8-dynamic",
    "torchao-fp8": "fp8 float8 e4m3 float8_e4m3fn fp8_e4m3",
    "torchao-int4": "int4 int4wo int4-weight-only",
    "sdpa": "sdp scaled_dot_product_attention",
    "eager": "naive vanilla",
    "sdpa-math": "math",
    "sdpa-efficient": "mem_efficient efficient",
    "sdpa-cudnn": "cudnn",
    "flash": "flash2 flash_attention_2 flash_attention flash_attn flash_attn_2 fa2",
    "flash3": "flash_attention_3 fa3",
    "flex": "flex_attention",
    "default": "inductor torch.compile dynamo",
    "torch": "pytorch pt",
    "aoti": "aot-inductor aotinductor",
    "onnxruntime": "ort onnx CPUExecutionProvider CUDAExecutionProvider",
    "onnxruntime-tensorrt": "tensorrt trt TensorrtExecutionProvider",
    "openvino": "ov",
    "adamw": "adamw_torch",
    "adamw-fused": "fused adamw_torch_fused",
    "adamw-foreach": "foreach",
    "adamw-8bit": "adamw_bnb_8bit",
    "max": "max_length",
    "longest": "dynamic",
    "packed": "packing pack",
    "cls": "cls_token",
    "last": "last_token",
    "mean": "mean_tokens average avg",
    "r8": "8",
    "r16": "16",
    "pretrained": "trained checkpoint safetensors",
    "random": "scratch dummy init initialized",
}


def aliases(values: Iterable[str]) -> dict[str, str]:
    """Return the further names of values."""
    return {name: value for value in values for name in _VALUES.get(value, "").split()}


ALIASES = {option.name: aliases(option.values) for option in OPTIONS}
"""Further names of the values of options, by option."""
TASK_ALIASES = _by_name(
    {
        "classify": "text-classification sentiment-analysis sequence-classification classification "
        "zero-shot-classification text-ranking rerank reranking cross-encoder seq-cls",
        "embed": "feature-extraction sentence-similarity embedding embeddings encode retrieval bi-encoder",
        "generate": "text-generation generation completion text-completion chat instruct decode",
        "serve-batch": "serving continuous-batching",
        "lm-train": "train training finetune fine-tuning sft pretraining",
        "lm-forward": "forward prefill",
        "image": "image-classification vision",
        "speech": "automatic-speech-recognition speech-recognition speech-to-text transcribe asr stt",
    }
)
"""Tasks by their names on the Hugging Face hub and by common ones."""
TASK_HINTS = _by_name(
    {
        "lm-forward, lm-train or generate": "causal-lm clm lm language-modeling inference infer eval benchmark",
        "name it as the dataset; classify reads texts": "sst2 glue mnli imdb",
        "only speech has an encoder and a decoder": "text2text-generation text2text summarization translation "
        "seq2seq seq2seq-lm",
        "write speech": "whisper wav2vec2 audio",
        "name it as the model; auto reads the task from its files": "bert gpt gpt2 llama llm vit clip",
        "write a step of your own": "text-to-image diffusion object-detection image-segmentation vlm "
        "image-text-to-text visual-question-answering text-to-speech tts audio-classification "
        "depth-estimation ocr rag custom",
        "embed measures its model": "fill-mask masked-lm mlm question-answering question-ans "
        "token-classification token-cls ner",
    }
)
"""What to write for tasks that aren't measured."""
DEVICE_ALIASES = _by_name({"cuda:0": "cuda rocm hip", "cuda:*": "cuda:all all", "cpu": "-1 cpu:0 host"})
"""Devices by their names in torch, transformers and other tools."""
DEVICE_HINTS = _by_name(
    {
        "measured are CPUs, and GPUs of NVIDIA and AMD": "mps xpu npu hpu tpu xla vulkan opencl dml metal",
        "name the devices, such as cpu,cuda:*": "auto balanced any best nvidia amd intel",
    }
)
"""What to write for devices that aren't measured, by the word before the number."""

_VALUE_HINTS = _by_name(
    {
        'of the weights: bnb-int8 or torchao-int8; dynamic on a CPU: precision = "int8"': "int8",
        'write quantization = "checkpoint", with a model that is stored so': "gptq awq awq-marlin gptq-marlin "
        "int4-awq int4-gptq aqlm eetq hqq marlin compressed-tensors modelopt nvfp4 mxfp4 w4a16 w8a8 w8a16",
        "import reads what the benchmarks of other engines measured": "vllm sglang tgi ollama llama.cpp "
        "llama-cpp tensorrt-llm lmdeploy deepspeed tf tensorflow jax flax",
        "torch uses oneDNN without being asked": "ipex onednn mkldnn",
        "bnb-int8 or bnb-nf4": "bitsandbytes bnb",
        "torchao-int8, torchao-int4 or torchao-fp8": "torchao ao",
        "weights of torchao-fp8 are float8_e4m3": "e5m2 fp8_e5m2 float8_e5m2",
        "of optimizers, AdamW and SGD are measured": "adam adafactor lion lamb adagrad muon rmsprop",
        "fp32 is the widest that is measured": "fp64 float64 double f64",
        "name one, or several as a list": "auto default all any best true false",
        "highest is fp32, high is tf32": "highest high",
        "llama.cpp runs GGUF; import reads the results of llama-bench": "gguf ggml q4_0 q4_k_m q8_0",
        "TorchScript isn't measured; torch.compile and backend aoti are": "torchscript jit script trace",
        "another kernel is written kernel:ORG/NAME": "flashinfer sage sageattention "
        "sage_attention triton paged paged_attention",
        'write quantization = "torchao-int4" or "bnb-nf4"': "int4 fp4",
        "fp16, or amp-fp16 for mixed precision": "16",
        "amp-bf16 or amp-fp16": "mixed",
        "the kernel of torch that corresponds to it is sdpa-efficient": "xformers",
        'write attention = "eager", or compile = "off"': "eager",
        "reduce-overhead replays CUDA graphs": "cudagraphs",
        "the nearest is max-autotune": "max-autotune-no-cudagraphs",
        "it debugs torch.compile; default is inductor": "aot_eager",
        "write lookup:N": "ngram prompt_lookup",
    }
)
"""What to write for values that no option, or another one, has."""
_HINTS_OF = {
    "cache": _by_name(
        {
            "generation always uses a cache; cache sets its kind": "false none off no",
            "measured are dynamic and static caches": "quantized offloaded offloaded_static sliding_window "
            "hybrid "
            "paged",
        }
    ),
    "compile": {"dynamic": "for dynamic=True, call torch.compile in a step of your own"},
}
"""The same, of one option."""
NUMBER_HINTS = {
    "threads": dict.fromkeys(("auto", "default", "all", "max", "none"), "0 leaves the number to torch"),
    "batch_size": dict.fromkeys(("max", "all", "largest"), 'write "auto", the largest that fits'),
    "sequence_length": dict.fromkeys(
        ("max", "auto", "longest", "default"), "name lengths; texts are cut to them"
    ),
}
"""What to write for words in place of a number, by option."""
_FLAGS = {"compile": {False: "off", True: "default"}, "padding": {True: "longest"}, "cache": {True: "dynamic"}}
"""Values that ``false`` and ``true`` stand for, other than ``off`` and ``on``."""

_SURELY = 0.75
"""Similarity of spelling from which it counts more than a word that two names share."""
_PERHAPS = 0.68
"""Similarity of spelling from which a name may be a misspelling; below, short names resemble all others."""

_FLAG_NAMES = {False: "false no none off 0", True: "true yes on 1"}


def entry_named(key: str, entries: Collection[str]) -> str:
    """Return the entry that a name stands for, in any spelling; the name as it is if there is none."""
    name = _lower(key)
    meanings = [key, name, _ENTRIES.get(name, "")]
    if name not in _HINTS:
        meanings += [entry for entry in entries if _singular(entry) == _singular(name)]
        meanings += [_MEANINGS.get(_singular(name), "")]
    return next((meaning for meaning in meanings if meaning in entries), key)


def entry_hint(key: str, entries: Iterable[str]) -> str:
    """Return what to write instead of an unknown name, by its meaning, letters or words; empty if unknown."""
    name, values = _lower(key), _values_elsewhere()
    bare = _singular(name)
    if hint := _HINTS.get(name) or values.get(plain(key)) or values.get(bare) or _BARE_HINTS.get(bare):
        return f" ({hint})"
    names = {entry: entry for entry in entries}
    others = {alias: entry for alias, entry in _ENTRIES.items() if entry in names}
    exact = {word: hint for word, hint in values.items() if not word.isalpha()}  # "max" says too little
    hints = {word: f"did you mean {entry!r}?" for word, entry in (names | others).items()} | exact
    shared = next((f" ({hints[word]})" for word in reversed(name.split("_")) if word in hints), "")
    return nearest(key, names, others, _SURELY) or shared or nearest(key, names, others, _PERHAPS)


def value_hint(word: str) -> str:
    """Return which option has a value, as a hint; empty if none has."""
    hint = _values_elsewhere().get(plain(word))
    return f" ({hint})" if hint else ""


def value_names(option: Option) -> Words:
    """Return the values of an option, with their further names and hints for others."""
    words = {word: value for flag, value in flags(option).items() for word in _FLAG_NAMES[flag].split()}
    words |= {f"{value}{option.name}": value for value in option.values}  # such as mean-pooling
    words |= {"default": "auto"} if "auto" in option.values else {}
    elsewhere = _values_elsewhere() if option.values[1:] else {}  # any other word may be a name
    hints = elsewhere | _VALUE_HINTS | _HINTS_OF.get(option.name, {})
    return Words(option.values, words | ALIASES[option.name], hints)


def flag_named(value: object) -> object:
    """Return the flag that a word such as ``yes`` stands for; anything else as it is."""
    word = value.strip().lower() if isinstance(value, str) else None
    return next((flag for flag, names in _FLAG_NAMES.items() if word in names.split()), value)


@cache
def _values_elsewhere() -> dict[str, str]:
    """Return what to write for the values of all options, by their names."""
    return {
        plain(name): f'write {option.name} = "{value}"'
        for option in OPTIONS
        for name, value in ({own: own for own in option.values} | ALIASES[option.name]).items()
        if name not in ("auto", "default", *SWITCH)
    }


@lru_cache(maxsize=1024)
def value_named(option: str, text: str) -> str:
    """Return the value of an option that a name stands for; the text as it is if there is none."""
    return value_names(BY_NAME[option]).named(text)


def flags(option: Option) -> dict[bool, str]:
    """Return the values that ``false`` and ``true`` stand for."""
    values = _FLAGS.get(option.name, {False: "off", True: "on"})
    return {flag: value for flag, value in values.items() if value in option.values}


def _lower(key: str) -> str:
    return re.sub("[- ]", "_", american(key.strip().lower()))


def _singular(name: str) -> str:
    """Return what names of an entry have in common: ``num_threads``, ``use_threads`` and ``thread``."""
    return re.sub(r"^(num|n|use|enable|apply|with|hf)_|(?<=...)s$", "", name).replace("_", "")


_MEANINGS = {_singular(name): entry for name, entry in _ENTRIES.items()}
_BARE_HINTS = {_singular(_lower(name)): hint for name, hint in (_VALUE_HINTS | _HINTS).items()}
