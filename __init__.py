"""Find the fastest way to run a transformer model on this machine, with error bars.

    import benchtui

    session = benchtui.run("quick")                   # or benchtui.load("latest"), benchtui.load("demo")
    session.cases()                                   # pandas: one row per case
    session.steps()                                   # pandas: one row per recorded step
    benchtui.compare("before.json", session).cases()  # pandas: ratio and verdict of each case

``run`` and ``load`` return a ``Session``, ``compare`` a ``Comparison``. What you can correct raises
``BenchtuiError``, whose text is one line. A step of your own takes a ``Case``: see ``help(benchtui.Case)``.
The command line is ``benchtui`` or ``python -m benchtui``.
"""

from benchtui.engine.workloads.own.case import Case as Case
from benchtui.sessions.errors import BenchtuiError as BenchtuiError
from benchtui.sessions.version import VERSION as __version__
from benchtui.tui.api.comparison import Comparison, compare
from benchtui.tui.api.running import run
from benchtui.tui.api.session import Session, load

# what help(benchtui) prints in full: Case and BenchtuiError are public as well, but would double its length
__all__ = ["Comparison", "Session", "__version__", "compare", "load", "run"]
