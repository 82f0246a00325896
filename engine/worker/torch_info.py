"""Torch information, read in a separate process because CUDA must not be used before a fork."""

import torch

from benchtui.engine.worker import isolation
from benchtui.sessions.events import Runtime


def main() -> Runtime:
    """Return versions, threads and CUDA devices as torch reports them. ``t`` is 0."""
    isolation.isolate()
    count = torch.cuda.device_count()
    return Runtime(
        t=0.0,
        torch=str(torch.__version__),
        transformers=transformers_version(),
        cuda=torch.version.cuda,
        hip=torch.version.hip,
        cudnn=torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None,
        threads=torch.get_num_threads(),
        cuda_devices=tuple(torch.cuda.get_device_name(index) for index in range(count)),
    )


def transformers_version() -> str | None:
    """Return the version of transformers; None if it isn't installed, because a user's step may not need it."""
    try:
        import transformers  # the fork server has imported it if it is there
    except ModuleNotFoundError:
        return None
    return transformers.__version__
