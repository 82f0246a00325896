"""Keep sessions of a first run on a GPU as fixtures of the tests.

    python tests/bench/on_gpu/keep.py ARCHIVE [NAME ...]

copies sessions from ``part-N-sessions.tar.gz`` to ``tests/fixtures/recorded/gpu``, as ``benchtui anonymize``
does. It refuses a session that isn't complete, that no NVIDIA GPU measured, or that is too large.
"""

import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchtui.sessions.anonymize import Anonymizer
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics

FIXTURES = Path(__file__).parents[2] / "fixtures" / "recorded" / "gpu"
MOST_BYTES = 300_000


def main(arguments: Sequence[str], target: Path = FIXTURES) -> int:
    """Keep the named sessions of an archive, or all of them. Return the exit status."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    archive, *names = arguments
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
        except (OSError, tarfile.TarError) as error:
            print(f"{archive}: not an archive of sessions: {error}", file=sys.stderr)
            return 2
        found = {path.stem: path for path in sorted(Path(folder).glob("*.json"))}
        if unknown := [name for name in names if name not in found]:
            print(f"{archive}: no session {', '.join(unknown)}; it has {', '.join(found)}", file=sys.stderr)
            return 2
        for name in names or found:
            refused += not _keep(found[name], target)
    return int(refused > 0)


def _keep(path: Path, target: Path) -> bool:
    """Copy a session. Return whether it was fit to keep."""
    reason = unfit(path)
    if reason is None:
        target.mkdir(parents=True, exist_ok=True)
        (target / path.name).unlink(missing_ok=True)
        Anonymizer().write(path, target / path.name)
    print(f"{path.name}: {'kept' if reason is None else reason}")
    return reason is None


def unfit(path: Path) -> str | None:
    """Return why a session can't be kept; None if it can."""
    text = path.read_text("utf-8")
    try:
        session = Session.load(path, metrics)
    except BenchtuiError as error:
        return str(error)
    if session.started is None or session.finished is None:
        return "refused: not complete"
    if not any("NVIDIA" in gpu.name for gpu in session.started.host.gpus):
        return "refused: no NVIDIA GPU measured it"
    if len(text) > MOST_BYTES:
        return f"refused: {len(text):,} bytes, at most {MOST_BYTES:,}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
