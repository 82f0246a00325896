"""Errors that mean memory has run out, told apart from all others by what they say."""

import re

import torch

from benchtui.engine.exception_text import first_line, text_of

_HOST = re.compile(r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory).*?(\d+) bytes")
_GPU = re.compile(
    r"CUDA out of memory\. Tried to allocate ([\d.]+ \w+)\."
    r" GPU \d+ has a total capacity of ([\d.]+ \w+) of which ([\d.]+ \w+) is free"
)
"""What torch's allocator says first; advice follows."""
_REFUSALS = (
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)
"""How the driver and the libraries say it, which take memory that isn't the allocator's."""


def reason(device: str, error: BaseException) -> str | None:
    """One line about an error on ``cpu`` or ``cuda:N`` that means memory has run out; None for any other error.

    It may have been wrapped on its way, as compilers do, and the device needn't be open.
    """
    said = text_of(error)
    if match := _GPU.search(said):
        asked, total, free = match.groups()
        return f"out of memory on {device}: {asked} asked for in one piece, {free} of {total} free"
    if refusal := next((words for words in _REFUSALS if words in said), None):
        return f"out of memory on {device}: {refusal}"
    if isinstance(error, torch.cuda.OutOfMemoryError):  # of another allocator, in other words
        return f"out of memory on {device}: {first_line(error)}"
    host = "cpu" if device == "cpu" else "the host"
    if match := _HOST.search(said):
        return f"out of memory on {host}: {int(match[1]) / 1e6:,.0f} MB asked for in one piece"
    return f"out of memory on {host}" if isinstance(error, MemoryError) else None
