import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import huggingface_hub.constants
import pytest

from benchtui.engine.models import hub


class Refusing(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_error(403)

    def log_message(self, *_: object) -> None: ...


def test_hub_that_returns_an_error_is_reachable_and_a_dead_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert hub.reachable()
        thread.join()
    assert not hub.reachable()


def test_offline_mode_skips_the_hub_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hub, "hub_answers", lambda endpoint: pytest.fail("asked"))
    assert not hub.reachable()
