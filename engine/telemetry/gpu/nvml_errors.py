"""NVML error codes and the messages that users see for them."""

import pynvml

REASONS = {
    "UNINITIALIZED": "the connection to the NVIDIA driver is closed",
    "INVALID_ARGUMENT": "the driver rejects this query for this GPU",
    "NOT_SUPPORTED": "not supported by this GPU or its driver",
    "NO_PERMISSION": "permission denied by the driver; an administrator can grant it",
    "ALREADY_INITIALIZED": "the connection to the NVIDIA driver is already open",
    "NOT_FOUND": "the driver finds no such GPU or entry",
    "INSUFFICIENT_SIZE": "the buffer is too small for the driver's answer",
    "INSUFFICIENT_POWER": "the GPU's power cables are not properly connected",
    "DRIVER_NOT_LOADED": "the NVIDIA driver is not loaded; load it, and check that nvidia-smi works",
    "TIMEOUT": "the driver did not respond in time",
    "IRQ_ISSUE": "the kernel has a problem with the GPU's interrupts; see dmesg",
    "LIBRARY_NOT_FOUND": (
        "no NVIDIA driver on this machine (libnvidia-ml.so.1 not found);"
        " install the driver, or start the container with access to the GPU"
    ),
    "FUNCTION_NOT_FOUND": "this version of the driver lacks the function",
    "CORRUPTED_INFOROM": "the GPU's infoROM is corrupted",
    "GPU_IS_LOST": "the GPU has fallen off the bus; see dmesg, the machine may need a reboot",
    "RESET_REQUIRED": "the GPU must be reset before it can be used again",
    "OPERATING_SYSTEM": "the operating system or a control group blocks access to the GPU",
    "LIB_RM_VERSION_MISMATCH": (
        "libnvidia-ml.so.1 and the loaded kernel driver differ in version; reboot to finish the driver update"
    ),
    "IN_USE": "the GPU is in use by another process",
    "MEMORY": "the driver ran out of memory",
    "NO_DATA": "the driver has no data yet",
    "VGPU_ECC_NOT_SUPPORTED": "not supported on a virtual GPU with ECC memory",
    "INSUFFICIENT_RESOURCES": "the driver is short of resources",
    "FREQ_NOT_SUPPORTED": "the GPU does not support this clock",
    "ARGUMENT_VERSION_MISMATCH": "this driver and the nvidia-ml-py package disagree on a structure's version",
    "DEPRECATED": "this driver no longer supports this query",
    "NOT_READY": "the GPU is not ready yet",
    "GPU_NOT_FOUND": "the driver no longer finds this GPU",
    "INVALID_STATE": "the GPU's current state does not allow this",
    "RESET_TYPE_NOT_SUPPORTED": "the GPU does not support this kind of reset",
    "UNKNOWN": "internal error in the driver",
}
"""Message for each code, by its name in nvml.h without ``NVML_ERROR_``."""

_NAMES = {
    value: name.removeprefix("NVML_ERROR_")
    for name, value in vars(pynvml).items()
    if name.startswith("NVML_ERROR_")
}

_PERMANENT = {
    "INVALID_ARGUMENT",
    "NOT_SUPPORTED",
    "NO_PERMISSION",
    "FUNCTION_NOT_FOUND",
    "ARGUMENT_VERSION_MISMATCH",
    "DEPRECATED",
}
_LOST = {"UNINITIALIZED", "DRIVER_NOT_LOADED", "GPU_IS_LOST", "RESET_REQUIRED", "GPU_NOT_FOUND"}


def reason(error: pynvml.NVMLError) -> str:
    """Return the one-line message for an error. Codes missing from the table are shown as numbers."""
    return REASONS.get(_NAMES.get(error.value, ""), f"NVML error {error.value} ({error})")


def is_permanent(error: pynvml.NVMLError) -> bool:
    """Whether retrying the same call is pointless."""
    return _NAMES.get(error.value) in _PERMANENT


def is_loss(error: pynvml.NVMLError) -> bool:
    """Whether the whole GPU is lost, not just one reading."""
    return _NAMES.get(error.value) in _LOST
