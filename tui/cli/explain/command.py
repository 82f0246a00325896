"""``benchtui explain``: profile measured cases again, and say where the time of their steps goes."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from benchtui.engine import client
from benchtui.sessions.compare.joined import join_follow_up
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.explain.as_json import CaseJson, case_json, explained_json
from benchtui.sessions.explain.cases import explained_cases, measured_ms
from benchtui.sessions.explain.difference import difference
from benchtui.sessions.explain.selection import require_explainable, selected
from benchtui.sessions.explain.trials import chosen, trial_sweep, trials
from benchtui.sessions.files.output_file import check_output
from benchtui.sessions.library.paths import resolve
from benchtui.sessions.permissions.needed import Consent
from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.tui.cli.consent import trust_option, with_consent
from benchtui.tui.cli.exit_status import FAILED, INTERRUPTED
from benchtui.tui.cli.explain.text import case_lines, difference_lines
from benchtui.tui.cli.options import complete_session, echo, json_option, printable
from benchtui.tui.cli.run import follow_to_end, target_of
from benchtui.tui.cli.text import progress
from benchtui.tui.cli.text.output import print_json
from benchtui.tui.cli.watch import start_engine


@click.command()
@click.argument("session", shell_complete=complete_session)
@click.argument("cases", nargs=-1, metavar="[CASE] [CASE2]")
@json_option("Print profiles, findings and the difference as JSON.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Profile again, and write the profiler's own trace for Perfetto or chrome://tracing. One case only.",
)
@click.option("--again", is_flag=True, help="Profile cases again that have a profile.")
@click.option("--anyway", is_flag=True, help="Profile even if the machine, the software or files have changed.")
@click.option(
    "--try",
    "try_remedies",
    is_flag=True,
    help="Measure the remedies of the findings next to their cases, and add them to the session.",
)
@click.option("--rule", "rules", multiple=True, metavar="RULE", help="Try the remedy of this finding only.")
@trust_option
def explain(
    session: str,
    cases: tuple[str, ...],
    as_json: bool,
    trace: Path | None,
    again: bool,
    anyway: bool,
    try_remedies: bool,
    rules: tuple[str, ...],
    trust: bool,
) -> None:
    """Profile measured cases again, and say where the time of their steps goes.

    SESSION is a path, a library name, or `latest`. A CASE is its number from 1, `baseline` or `best`; without
    one, both of these. Each case runs a few steps in a new process on the machine that measured it, and its
    profile is added to the session; no measured number changes. Cases with a profile aren't run again. Two
    cases are also compared. With --try, each case and its remedies are measured in alternating rounds of the
    same session: the gain is printed next to its prediction and bound. Exit status 1 if a case has no profile.
    """
    if rules and not try_remedies:
        raise click.UsageError("--rule needs --try")
    path = resolve(session)
    loaded = Session.load(path, metrics)
    wanted = _wanted(loaded, cases)
    if trace:
        if len(wanted) != 1:
            raise click.UsageError(f"--trace: {len(wanted)} cases would be profiled; name one")
        check_output(trace, [path])
    new = [index for index in wanted if again or trace or not _has_profile(loaded, index)]
    for index in new:
        require_explainable(loaded, index)
    if new and (engine := client.find(path)):
        engine.explain(new)
        click.echo("the sweep is running; the cases are profiled once all are measured", err=True)
        sys.exit(FAILED)
    if new:

        def profile(consent: Consent) -> None:
            process = client.explain(path, new, anyway=anyway, trace=trace, consent=consent)
            _profile(loaded, process, len(new))

        with_consent(profile, trust)
        loaded = Session.load(path, metrics)
    if try_remedies:
        _try(loaded, path, wanted, rules, trust=trust)
        loaded = Session.load(path, metrics)
    _print(loaded, wanted, as_json=as_json)


def _wanted(session: Session, words: Sequence[str]) -> list[int]:
    """Return the numbers of the cases. Raises BenchtuiError if one can't be explained."""
    indices: list[int] = []
    for word in words or ("baseline", "best"):
        if word.isascii() and word.isdigit():
            indices.append(_checked(session, int(word) - 1))
        elif word in ("baseline", "best"):
            named = selected(session, ("baseline",) if word == "baseline" else ("best",))
            if not named:
                raise BenchtuiError(f"no {word} case was measured")
            indices += [_checked(session, index) for index in named]
        else:
            raise click.UsageError(f"{printable(word)!r} is not a case: give its number, baseline or best")
    return list(dict.fromkeys(indices))


def _checked(session: Session, index: int) -> int:
    """Return the index of a case. Raises BenchtuiError if it has no profile and can't be explained."""
    return index if _has_profile(session, index) else require_explainable(session, index).index


def _has_profile(session: Session, index: int) -> bool:
    explained = session.cases[index].explained if 0 <= index < len(session.cases) else None
    return explained is not None and explained.profile is not None


def _profile(session: Session, process: client.ExplainProcess, amount: int) -> None:
    """Wait for the profiles, with the progress on standard error."""
    begun = set[int]()
    try:
        for message in process.messages():
            if message.case is not None and message.explained is None and message.case not in begun:
                begun.add(message.case)
                name = session.cases[message.case].name
                echo(f"profiling case {message.case + 1} ({len(begun)} of {amount}): {name}", err=True)
    except KeyboardInterrupt:
        process.stop()
        sys.exit(INTERRUPTED)


def _try(session: Session, path: Path, wanted: Sequence[int], rules: Sequence[str], *, trust: bool) -> None:
    """Measure the remedies of these cases that haven't been tried, and join them to the session."""
    explained = [case for case in explained_cases(session) if case.case.index in wanted]
    untried = chosen(session, explained, rules)
    if not untried:
        click.echo("nothing to try: no finding has an option as its remedy that wasn't measured", err=True)
        return
    sweep = trial_sweep(session, untried)
    target = target_of(path, sweep)
    ended = follow_to_end(lambda: start_engine(sweep, None, trust=trust), as_json=False)
    if ended is None:
        raise AssertionError("a new sweep has cases")
    engine, tried = ended
    file = progress.recorded_path(tried, engine.path)
    if not join_follow_up(target, file, tried):
        raise BenchtuiError(f"no case was measured to its end; see {shell_word(str(file))}")


def _print(session: Session, wanted: Sequence[int], *, as_json: bool) -> None:
    profiled = {explained.case.index: explained for explained in explained_cases(session)}
    shown = [profiled[index] for index in wanted if index in profiled]
    gap = difference(*shown) if len(shown) == 2 else None
    absent = {index: _absent(session, index) for index in wanted if index not in profiled}
    if as_json:
        rows = [
            absent.get(index) or case_json(profiled[index], trials(session, profiled[index]))
            for index in wanted
        ]
        print_json(explained_json(rows, gap))
    else:
        lines = [text for item in shown for text in case_lines(item, trials(session, item))]
        echo(*lines, *(difference_lines(gap) if gap else ()))
        why = (f"case {item.number}, {item.name}: not profiled: {item.absent}" for item in absent.values())
        echo(*why, err=True)
    if absent:
        sys.exit(FAILED)


def _absent(session: Session, index: int) -> CaseJson:
    """Return a case without a profile, with the reason."""
    case = session.cases[index]
    return CaseJson(
        case=index,
        number=index + 1,
        name=case.name,
        measured_ms=measured_ms(case),
        findings=(),
        notes=(),
        profile=None,
        absent=case.explained.absent if case.explained else "stopped before",
    )
