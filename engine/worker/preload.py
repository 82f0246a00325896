"""What the fork server imports once, so that each case's process has it at no cost.

Nothing is computed here: a fork after OpenMP has started its threads would hang. Python doesn't look for
garbage among all these objects, neither while they come, which takes a fifth of the time, nor in each case's
process later (docs.python.org, gc.freeze): ``isolate`` has it look again.
"""
# ruff: noqa: E402

import gc

gc.disable()

import transformers
from transformers import (  # noqa: F401  (transformers imports lazily; naming these does the work now)
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

import benchtui.engine.worker.main  # noqa: F401

transformers.utils.logging.disable_progress_bar()
gc.freeze()
