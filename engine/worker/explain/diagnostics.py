"""Diagnostic modes: what helps to find errors or switches fast code off, and slows a program while it is on."""

import os
import sys
from collections.abc import Iterator

import torch


def diagnostic_modes() -> tuple[str, ...]:
    """Return the modes that are on in this thread, as a user would search for them."""
    return tuple(_modes())


def _modes() -> Iterator[str]:
    if torch.is_anomaly_enabled():
        yield "autograd's anomaly detection (torch.autograd.set_detect_anomaly)"
    if sys.getprofile() is not None:
        yield "a profile function that Python calls for each call (sys.setprofile)"
    if sys.gettrace() is not None:
        yield "a trace function that Python calls for each line (sys.settrace), of a debugger or of coverage"
    if sys.flags.dev_mode:
        yield "Python's development mode (-X dev)"
    if torch.backends.mkldnn.is_available() and not torch.backends.mkldnn.enabled:
        yield "oneDNN off (torch.backends.mkldnn.enabled), whose products and convolutions are faster"
    if os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"):
        yield "CUDA_LAUNCH_BLOCKING, with which the host waits for each kernel"
