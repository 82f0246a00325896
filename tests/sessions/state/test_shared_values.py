import msgspec

from benchtui.sessions.events import CasePrepared, CaseStarted, SessionStarted
from benchtui.sessions.payloads import Host, Model
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Sweep

PLAN = tuple(Config(device="cpu", attention="sdpa", batch_size=size) for size in (1, 2))


def decoded(event: SessionStarted | CaseStarted | CasePrepared) -> SessionStarted | CaseStarted | CasePrepared:
    """Return a copy as it is read from a file."""
    return msgspec.json.decode(msgspec.json.encode(event), type=type(event))


def test_equal_values_of_cases_are_one_object() -> None:
    session = Session()
    start = SessionStarted(t=0.0, id="s", created="", sweep=Sweep(name="s", model="m"), plan=PLAN, host=Host())
    session.apply(decoded(start))
    for index, config in enumerate(PLAN):
        session.apply(decoded(CaseStarted(t=1.0, case=index, config=config)))
        session.apply(
            decoded(CasePrepared(t=1.0, case=index, model=Model(name="m"), marks=("random weights",)))
        )
    one, other = session.cases
    assert (one.config, other.config) == PLAN
    assert one.config.attention is other.config.attention
    assert one.started is not None and one.started.config is one.config
    assert one.prepared is not None and other.prepared is not None
    assert one.prepared.model is other.prepared.model and one.prepared.marks is other.prepared.marks


def test_values_that_differ_stay_as_they_are() -> None:
    """A worker may have started with other options, and each model has its own facts."""
    session = Session()
    start = SessionStarted(t=0.0, id="s", created="", sweep=Sweep(name="s", model="m"), plan=PLAN, host=Host())
    session.apply(start)
    another = Config(device="cuda:0")
    session.apply(CaseStarted(t=1.0, case=0, config=another))
    for index, name in enumerate(("m", "n")):
        session.apply(CasePrepared(t=1.0, case=index, model=Model(name=name), marks=(name,)))
    assert session.cases[0].started is not None and session.cases[0].started.config == another
    assert [(case.prepared.model.name, case.prepared.marks) for case in session.cases if case.prepared] == [
        ("m", ("m",)),
        ("n", ("n",)),
    ]
