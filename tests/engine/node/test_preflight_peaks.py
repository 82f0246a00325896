from benchtui.engine.node.preflight import peak_events, peak_keys
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.events import Message, Peaks
from benchtui.sessions.sweep import Config

KEY = PeakKey("cpu", "fp32", 0)


def test_each_peak_is_measured_once() -> None:
    configs = [
        Config(device="cpu"),
        Config(device="cpu", batch_size=8, compile="default"),
        Config(device="cpu", precision="amp-bf16"),
        Config(device="cpu", precision="bf16"),
        Config(device="cpu", threads=1),
        Config(device="cuda:0", precision="fp16", threads=1),
        Config(device="cpu", precision="int8"),
    ]
    assert peak_keys(configs) == [
        ("cpu", "fp32", 0),
        ("cpu", "bf16", 0),
        ("cpu", "fp32", 1),
        ("cuda:0", "fp16", 0),
    ]


def test_dead_peaks_process_is_logged_and_recorded_as_the_reason() -> None:
    reason = "the process exited with status -9"
    event, message = peak_events(reason, KEY)
    assert event == Peaks(
        t=0.0, device="cpu", precision="fp32", absent=dict.fromkeys(("flops", "bytes"), reason)
    )
    assert isinstance(message, Message) and message.level == "warning"
    assert message.text == f"peak rates of cpu fp32 not measured: {reason}"
