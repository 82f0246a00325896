"""Compiler log: graph breaks and recompiles, with location and reason, from the log of torch's compiler."""

import logging
import re
from collections import Counter

import torch._inductor.config as inductor
from torch._logging._internal import set_logs

from benchtui.sessions.profiles import GraphBreak, Recompile

MOST_ENTRIES = 20
"""Maximum number of entries of each kind to keep."""
MOST_CHARS = 400

_BREAK = re.compile(
    r"Graph break in user code at (?P<where>\S+:\d+)\s*(?:Graph Break )?Reason:\s*(?P<reason>.*)", re.S
)
_RECOMPILE = re.compile(r"Recompiling function (?P<name>\S+) in (?P<place>\S+:\d+)(?P<rest>.*)", re.S)
_EXPLANATION = "Explanation:"
_GUARD = re.compile(r"^\s*-\s*(?:\d+(?:/\d+)*:\s*)?(?P<guard>\S.*)$", re.M)


class CompilerLog(logging.Handler):
    """Log handler that collects graph breaks and recompiles. Attach it before anything is compiled."""

    def __init__(self) -> None:
        super().__init__()
        self._breaks: Counter[tuple[str, str]] = Counter()
        self._recompiles: Counter[tuple[str, str]] = Counter()

    def attach(self) -> None:
        """Make torch log both kinds, and add this handler to its loggers."""
        set_logs(graph_breaks=True, recompiles=True)
        logging.getLogger("torch._dynamo").addHandler(self)
        for name in list(logging.Logger.manager.loggerDict):
            if name.startswith("torch.__") or (name.startswith("torch._dynamo") and ".__" in name):
                logging.getLogger(name).addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Collect a message about a graph break or a recompile, in the wording of old and new releases."""
        text = record.getMessage()
        if match := _RECOMPILE.search(text):
            guard = _GUARD.search(match["rest"])
            self._recompiles[_short(guard["guard"]) if guard else "unknown", _function(match)] += 1
        elif match := _BREAK.search(text):
            self._breaks[_short(_reason(match["reason"])), match["where"]] += 1

    def graph_breaks(self) -> tuple[GraphBreak, ...]:
        """Return the graph breaks so far, the most frequent first."""
        counted = self._breaks.most_common(MOST_ENTRIES)
        return tuple(GraphBreak(reason=reason, where=where, count=count) for (reason, where), count in counted)

    def recompiles(self) -> tuple[Recompile, ...]:
        """Return the recompiles so far, the most frequent first."""
        counted = self._recompiles.most_common(MOST_ENTRIES)
        return tuple(Recompile(guard=guard, where=where, count=count) for (guard, where), count in counted)


def show_fused_kernels() -> None:
    """Make compiled CPU code report its fused kernels by name. Call it before anything is compiled."""
    inductor.cpp.enable_kernel_profile = True


def _function(match: re.Match[str]) -> str:
    return f"{match['name']} in {match['place']}"


def _reason(text: str) -> str:
    """Return the explanation in torch's text; in older releases it is the first line."""
    lines = [line.strip() for line in text.strip().splitlines()]
    explained = next((line for line in lines if line.startswith(_EXPLANATION)), None)
    return explained.removeprefix(_EXPLANATION).strip() if explained else lines[0] if lines else "unknown"


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= MOST_CHARS else f"{one_line[:MOST_CHARS]}…"
