from benchtui.tui.shell.refresh_rate import RefreshRate


def test_machine_with_few_processors_is_quiet_while_measuring() -> None:
    rate = RefreshRate()
    assert rate.quiet(True, 2)
    assert not rate.quiet(False, 2)
    assert not rate.quiet(True, 3) and not rate.quiet(True, None)


def test_quiet_mode_can_be_toggled_on_every_machine() -> None:
    for processors in (2, 16):
        rate = RefreshRate()
        before = rate.quiet(True, processors)
        rate.toggle(processors)
        assert rate.quiet(True, processors) != before
        rate.toggle(processors)
        assert rate.quiet(True, processors) == before
        assert not rate.quiet(False, processors)
