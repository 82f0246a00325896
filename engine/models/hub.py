"""Hub reachability. The libraries retry for half a minute before they use their cache."""

import huggingface_hub.constants

from benchtui.sessions.stored_models.hub_cache import hub_answers


def reachable() -> bool:
    """Whether the hub answers and ``HF_HUB_OFFLINE`` is not set."""
    return not huggingface_hub.constants.HF_HUB_OFFLINE and hub_answers(huggingface_hub.constants.ENDPOINT)
