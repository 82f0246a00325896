"""A running engine as a test watches it: its record as it grows, and what it leaves behind."""

import time
from collections.abc import Callable

from benchtui.engine import client
from benchtui.engine.process_tree import is_running
from benchtui.sessions.journal.reader import AnyRecord, Tail
from benchtui.sessions.permissions.needed import Consent, keys, needed_permissions
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep

PATIENCE_S = 120.0
ENDLESS = ("iterations=1000000", "warmup=0")


class Watched:
    """A running engine and the fold of its record so far."""

    def __init__(self, engine: client.Engine) -> None:
        self.engine = engine
        self.session = Session()
        self.events: list[AnyRecord] = []
        self._tail = Tail(engine.path)

    def read(self) -> None:
        events = self._tail.read()
        self.events += events
        self.session.apply_all(events)

    def until(self, reached: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not reached():
            assert time.monotonic() < deadline, f"not reached; {self.session.messages} {self.states}"
            time.sleep(0.02)
            self.read()

    def until_steps(self, case: int) -> CaseState:
        self.until(lambda: self.session.cases and len(self.session.cases[case].measured) > 0)
        return self.session.cases[case]

    def until_ended(self) -> Session:
        self.until(lambda: not self.engine.alive())
        self.read()
        self.close()
        return self.session

    def close(self) -> None:
        self._tail.close()

    @property
    def states(self) -> list[str]:
        return [case.state for case in self.session.cases]


def wait_gone(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while is_running(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


OWN = """
import ctypes, gc, os, signal, subprocess, time
from multiprocessing.connection import Connection
import torch

class Step:
    def __init__(self, act, samples=1):
        self.step = act
        self.samples = samples

def pipes():
    return [each for each in gc.get_objects() if type(each) is Connection and each.writable and not each.closed]

"""


def allowed(sweep: Sweep) -> Consent:
    """The user's consent to the code and the variables of a sweep."""
    return keys(needed_permissions(sweep))
