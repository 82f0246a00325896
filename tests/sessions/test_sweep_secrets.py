"""Secrets of a sweep: masks in the record, values for the workers."""

import msgspec
import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import cases
from benchtui.sessions.sweep.toml_reader import parse_sweep
from benchtui.sessions.sweep.toml_writer import masked_text, toml_of
from benchtui.sessions.sweep_secrets import Secrets, SecretSweep

TOML = """
model = "m"
task = "step.py:make"
dataset = "https://me:data-passw0rd@h/x.jsonl"
[env]
HF_TOKEN = "of-all-cases"
OMP_NUM_THREADS = 4
[axes.env]
API_KEY = ["first-key", "it's the second"]
MALLOC_ARENA_MAX = 2
[axes.parameters]
password = ["pw-one", "pw-two"]
block = 64
[measure]
baseline = {env = "API_KEY=first-key MALLOC_ARENA_MAX=2"}
"""
VALUES = ("of-all-cases", "first-key", "the second", "pw-one", "pw-two", "data-passw0rd")


@pytest.fixture
def sweep() -> SecretSweep:
    found = parse_sweep(TOML, "t.toml")
    assert isinstance(found, SecretSweep)
    return found


def test_sweep_has_no_value_and_its_cases_stay_different(sweep: SecretSweep) -> None:
    recorded = Secrets(sweep).recorded(sweep)
    text = msgspec.json.encode(recorded).decode()
    assert type(recorded).__name__ == "Sweep" and not any(value in text for value in VALUES)
    names = [case.name for case in cases(sweep)]
    assert names[0] == "cpu API_KEY=*** MALLOC_ARENA_MAX=2 password=*** block=64"
    assert "API_KEY=***2" in names[-1] and "password=***2" in names[-1] and len(set(names)) == len(names) == 4


def test_baseline_matches_its_masked_case(sweep: SecretSweep) -> None:
    assert sweep.measure.baseline
    assert [sweep.measure.baseline.matches(case.config) for case in cases(sweep)] == [True, True, False, False]


def test_workers_get_the_values(sweep: SecretSweep) -> None:
    sent = msgspec.json.decode(msgspec.json.encode(sweep), type=SecretSweep)
    secrets = Secrets(sent)
    recorded = secrets.recorded(sent)
    found = secrets.revealed(recorded)
    assert found.env == {"HF_TOKEN": "of-all-cases", "OMP_NUM_THREADS": "4"}
    assert found.dataset == "https://me:data-passw0rd@h/x.jsonl"
    config = secrets.revealed(cases(recorded)[-1].config)
    assert config.parameters == "password=pw-two block=64"
    assert config.env.endswith("second' MALLOC_ARENA_MAX=2") and "API_KEY=it" in config.env


def test_engine_masks_a_sweep_that_nobody_has_masked() -> None:
    plain = parse_sweep('model = "m"\n', "t.toml")
    secrets = Secrets(plain)
    assert secrets.recorded(msgspec.structs.replace(plain, env={"HF_TOKEN": "x"})).env == {"HF_TOKEN": "***"}
    assert secrets.values == {"HF_TOKEN=***": "x"}


def test_options_as_read_back_have_the_masks_of_their_case(sweep: SecretSweep) -> None:
    secrets = Secrets(sweep)
    assert secrets.cleaned("env", "'API_KEY=it'\"'\"'s the second'") == "API_KEY=***2"
    assert secrets.cleaned("parameters", "password=pw-two") == "password=***2"
    assert secrets.cleaned("reason", "no access with first-key") == "no access with ***"


def test_sweep_without_secrets_stays_as_it_is() -> None:
    sweep = parse_sweep('model = "m"\n[env]\nA = "b c"\n', "t.toml")
    assert type(sweep).__name__ == "Sweep" and Secrets(sweep).revealed(sweep) is sweep


def masked_env(text: str) -> str:
    return f'model = "m"\n[env]\n{text}\n'


def test_masked_variable_comes_from_the_environment_or_is_refused() -> None:
    sweep = parse_sweep(masked_env('HF_TOKEN = "***"\nHTTPS_PROXY = "http://***@proxy:1"'), "t.toml")
    plan = [case.config for case in cases(sweep)]
    with pytest.raises(
        BenchtuiError, match=r"^HF_TOKEN is masked in the session: set it in the environment to resume$"
    ):
        Secrets(sweep, {}).restore(sweep, plan, "resume")
    there = {"HF_TOKEN": "now-here", "HTTPS_PROXY": "http://other:1"}
    with pytest.raises(
        BenchtuiError, match=r"^HTTPS_PROXY .*: set it to http://\*\*\*@proxy:1 in the environment"
    ):
        Secrets(sweep, there).restore(sweep, plan, "run")
    secrets = Secrets(sweep, there | {"HTTPS_PROXY": "http://me:pw@proxy:1"})
    secrets.restore(sweep, plan, "resume")
    assert secrets.revealed(sweep.env) == {"HF_TOKEN": "now-here", "HTTPS_PROXY": "http://me:pw@proxy:1"}


def test_several_masked_values_and_parameters_are_refused(sweep: SecretSweep) -> None:
    recorded = Secrets(sweep).recorded(sweep)
    there = {"HF_TOKEN": "now-here", "API_KEY": "which?"}
    first, *_, last = [case.config for case in cases(recorded)]
    recorded = msgspec.structs.replace(recorded, dataset="sample")
    for config in (first, last):
        with pytest.raises(BenchtuiError, match=r"^API_KEY has several values, masked in the session"):
            Secrets(recorded, there).restore(recorded, [config], "resume")
    alone = msgspec.structs.replace(first, env="")
    with pytest.raises(
        BenchtuiError, match=r"^password is masked in the session \(\*\*\*\): start a sweep with"
    ):
        Secrets(recorded, there).restore(recorded, [alone], "explain")
    with pytest.raises(BenchtuiError, match=r"^password is masked in the session, and its value is unknown$"):
        Secrets(recorded, there).require([alone])


def test_new_value_of_a_resumed_session_gets_a_new_mask(sweep: SecretSweep) -> None:
    recorded = Secrets(sweep).recorded(sweep)
    resumed = Secrets(recorded, {"HF_TOKEN": "now-here"})
    resumed.restore(msgspec.structs.replace(recorded, dataset="sample"), [], "resume")
    typed = msgspec.structs.replace(
        cases(recorded)[0].config, env="API_KEY=third", parameters="password=pw-three"
    )
    added = resumed.masked_record(typed)
    assert (added.env, added.parameters) == ("API_KEY=***3", "password=***3")
    assert resumed.revealed(added) == typed


def test_toml_of_a_masked_sweep_says_what_the_mask_means(sweep: SecretSweep) -> None:
    text = toml_of(Secrets(sweep).recorded(sweep))
    assert text.startswith("# *** is a secret that the session doesn't contain.")
    assert not any(value in text for value in VALUES)
    again = parse_sweep(text, "again.toml")
    assert [case.config for case in cases(again)] == [case.config for case in cases(sweep)]


def test_form_shows_no_value() -> None:
    assert masked_text("env", "HF_TOKEN=of-all-cases, A=b") == "HF_TOKEN=***, A=b"
    assert "first" not in masked_text("axes.env", '{API_KEY = ["first", "second"], A = ["b"]}')
    assert masked_text("env", "A=b, C=d") == "A=b, C=d"
    assert masked_text("dataset", "https://me:pw@h") == "https://***@h"
