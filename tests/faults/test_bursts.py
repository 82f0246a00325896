"""Bursts of keys in a real terminal: some at each check, 1,000 in the long run."""

import bursts
import pytest


@pytest.mark.terminal
def test_random_bursts_lead_where_the_model_says() -> None:
    assert list(bursts.run(15, seed=20261123)) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_thousand_bursts_lead_where_the_model_says() -> None:
    assert list(bursts.run(1000, seed=1)) == []


def test_model_comparison_detects_keys_that_went_astray() -> None:
    model = bursts.Model(place="library", prompt="alpha")
    assert bursts.wrong(model, "▸2 Monitor") == "place library"
    assert bursts.wrong(model, "▸4 Library\nfilter: alph") == "the prompt's text 'alpha'"
    assert bursts.wrong(model, "▸4 Library\nfilter: alpha") == ""
