"""Out-of-memory errors, recognized by their text."""

import re
from collections.abc import Iterator
from contextlib import suppress

import torch

from benchtui.engine.exception_text import first_line, text_of

_HOST = re.compile(r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory).*?(\d+) bytes")
_GPU = re.compile(
    r"(?:CUDA|HIP) out of memory\. Tried to allocate ([\d.]+ \w+)\."
    r" GPU \d+ has a total capacity of ([\d.]+ \w+) of which ([\d.]+ \w+) is free"
)
"""Start of the torch allocator's message. Advice follows it."""
_REFUSALS = re.compile(
    r"(?:CUDA|HIP)(?: driver)?(?: error:)? out of memory"
    r"|Triton Error \[\w+\]: out of memory"
    r"|Cuda failure (?:\d+ )?'out of memory'"  # NCCL
    r"|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|hipErrorOutOfMemory"
    r"|(?:CU|HIP|ROC)(?:BLAS|DNN|SOLVER|SPARSE)_STATUS_ALLOC_FAILED"
    r"|CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"  # cuDNN 9
)
"""Messages of the driver and of libraries, which allocate memory outside torch's allocator."""
_HOST_REFUSAL = "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"
"""Message of cuDNN 9, which distinguishes host and device. ``CUDNN_STATUS_ALLOC_FAILED`` of cuDNN 8 doesn't."""
_IF_FULL = re.compile(r"(?:CU|HIP)(?:BLAS|DNN|SOLVER|SPARSE)_STATUS_NOT_INITIALIZED")
"""Message of a library that can't create its handle, because the device is full or for another reason."""
FULL_BYTES = 500_000_000
"""Free memory below which a device counts as full. The handle and workspace of a library may need more."""


def reason(device: str, error: BaseException) -> str | None:
    """Return a one-line reason if the error or its cause means out of memory, else None.

    ``device`` is ``cpu`` or ``cuda:N`` and needn't be open. Wrapped errors, as raised by compilers, count too.
    """
    return next(
        (reason_of_cause for cause in _causes(error) if (reason_of_cause := _reason(device, cause))), None
    )


def _reason(device: str, error: BaseException) -> str | None:
    text = text_of(error)
    if match := _GPU.search(text):
        size, total, free = match.groups()
        return f"out of memory on {device}: tried to allocate {size}, {free} of {total} free"
    if refusal := _refusal(device, text):
        return f"out of memory on {device}: {refusal}"
    if isinstance(error, torch.cuda.OutOfMemoryError):  # from another allocator, with a different message
        return f"out of memory on {device}: {first_line(error)}"
    host = "cpu" if device == "cpu" else "the host"
    if match := _HOST.search(text):
        return f"out of memory on {host}: tried to allocate {int(match[1]) / 1e6:,.0f} MB"
    if _HOST_REFUSAL in text:
        return f"out of memory on {host}: {_HOST_REFUSAL}"
    return f"out of memory on {host}" if isinstance(error, MemoryError) else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the errors it was raised from, or while handling, as a traceback shows them."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        # `raise ... from` sets a cause and suppresses the context, `from None` only suppresses it
        cause = cause.__cause__ if cause.__suppress_context__ else cause.__context__


def _refusal(device: str, text: str) -> str | None:
    """Return the part of the text that means out of memory; None if there is none."""
    if match := _REFUSALS.search(text):
        return match[0]
    if (match := _IF_FULL.search(text)) and (free := _free_bytes(device)) is not None and free < FULL_BYTES:
        return f"{match[0]}, {free / 1e6:,.0f} MB free"
    return None


def _free_bytes(device: str) -> int | None:
    """Return the free memory of an open GPU. None if it can't be read, for example after a kernel crash."""
    with suppress(Exception):
        if torch.cuda.is_initialized():
            return int(torch.cuda.mem_get_info(device)[0])
    return None
