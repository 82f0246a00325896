"""Preload: modules the fork server imports once, so that every worker starts with them.

Nothing is computed here, because a fork after OpenMP has started its threads would hang. Garbage collection is
off during the imports, which saves a fifth of their time. The heap is then frozen, so that workers don't scan
these objects (docs.python.org, gc.freeze). ``isolate`` turns collection on again.
"""
# ruff: noqa: E402

import gc

gc.disable()

from contextlib import suppress

import benchtui.engine.worker.main

with suppress(ModuleNotFoundError):  # a user's step may need no transformers
    import transformers
    from transformers import (  # noqa: F401  (transformers imports lazily; naming these imports them now)
        AutoConfig,
        AutoModelForCausalLM,
        AutoModelForSequenceClassification,
        AutoTokenizer,
        PreTrainedModel,
        PreTrainedTokenizerFast,
    )

    import benchtui.engine.workloads.registry  # noqa: F401

    transformers.utils.logging.disable_progress_bar()
gc.freeze()
