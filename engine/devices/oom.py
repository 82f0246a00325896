"""Out-of-memory errors, recognized by their text."""

import re

import torch

from benchtui.engine.exception_text import first_line, text_of

_HOST = re.compile(r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory).*?(\d+) bytes")
_GPU = re.compile(
    r"CUDA out of memory\. Tried to allocate ([\d.]+ \w+)\."
    r" GPU \d+ has a total capacity of ([\d.]+ \w+) of which ([\d.]+ \w+) is free"
)
"""Start of the torch allocator's message. Advice follows it."""
_REFUSALS = (
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)
"""Messages of the driver and of libraries, which allocate memory outside torch's allocator."""


def reason(device: str, error: BaseException) -> str | None:
    """Return a one-line reason if the error means out of memory, else None.

    ``device`` is ``cpu`` or ``cuda:N`` and needn't be open. The error may be wrapped, as compilers do.
    """
    text = text_of(error)
    if match := _GPU.search(text):
        size, total, free = match.groups()
        return f"out of memory on {device}: tried to allocate {size}, {free} of {total} free"
    if refusal := next((words for words in _REFUSALS if words in text), None):
        return f"out of memory on {device}: {refusal}"
    if isinstance(error, torch.cuda.OutOfMemoryError):  # of another allocator, with another message
        return f"out of memory on {device}: {first_line(error)}"
    host = "cpu" if device == "cpu" else "the host"
    if match := _HOST.search(text):
        return f"out of memory on {host}: tried to allocate {int(match[1]) / 1e6:,.0f} MB"
    return f"out of memory on {host}" if isinstance(error, MemoryError) else None
