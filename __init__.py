"""Find the fastest way to run a transformer model on this machine, with error bars.

    import benchtui

    session = benchtui.run("quick")                   # or benchtui.load("latest"), benchtui.load("demo")
    session.cases()                                   # pandas: one row per case
    session.steps()                                   # pandas: one row per recorded step
    benchtui.compare("before.json", session).cases()  # pandas: ratio and verdict of each case

A step of your own takes a ``Case``. The command line is ``benchtui`` or ``python -m benchtui``.
"""

from benchtui.engine.workloads.own.case import OwnCase as Case
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.version import VERSION as __version__
from benchtui.tui.api.comparison import Comparison, compare
from benchtui.tui.api.running import run
from benchtui.tui.api.session import Session, load

__all__ = ["BenchtuiError", "Case", "Comparison", "Session", "__version__", "compare", "load", "run"]
