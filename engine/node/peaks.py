"""Which peaks a session's cases are held against, and what is told of each."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from benchtui.sessions.analysis.roofline import PeakKey, peak_key
from benchtui.sessions.events import Message, Peaks
from benchtui.sessions.sweep import Config

LONGEST_S = 60.0
"""Much more than measuring takes; a driver that is asked for the first time may take its time."""


def peak_keys(configs: Iterable[Config]) -> list[PeakKey]:
    """What has to be measured for cases with these options, each once."""
    return list(dict.fromkeys(key for config in configs if (key := peak_key(config))))


def told(answer: Peaks | str, key: PeakKey, now_s: float) -> Iterator[Peaks | Message]:
    """The event for an answer or its reason, and a message for each peak that it lacks."""
    if isinstance(answer, str):
        answer = Peaks(t=now_s, **key._asdict(), absent=dict.fromkeys(("flops", "bytes"), answer))
    yield replace(answer, t=now_s)
    for reason in dict.fromkeys(answer.absent.values()):
        text = f"peak of {key.device} {key.precision} not measured: {reason}"
        yield Message(t=now_s, level="warning", text=text)
