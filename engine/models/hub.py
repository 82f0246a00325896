"""Hub reachability. The libraries retry for half a minute before they use their cache."""

import ssl
import urllib.error
import urllib.request

import huggingface_hub.constants

PROBE_S = 3.0


def reachable() -> bool:
    """Whether the hub answers and ``HF_HUB_OFFLINE`` is not set."""
    return not huggingface_hub.constants.HF_HUB_OFFLINE and _answers(huggingface_hub.constants.ENDPOINT)


def _answers(endpoint: str) -> bool:
    request = urllib.request.Request(endpoint, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=PROBE_S).close()
    except urllib.error.HTTPError as refusal:
        refusal.close()
    except OSError as error:
        # perhaps only this probe rejects the certificate: let the library decide
        return isinstance(getattr(error, "reason", None), ssl.SSLError)
    return True
