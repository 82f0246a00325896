"""When Python looks for garbage: not while the app begins, and not while a record is being read.

What is loaded then stays anyway, and looking through hundreds of thousands of its objects again and again takes
tenths of a second each time, in which no key is answered.
"""

import gc


def let_be() -> None:
    """Look for none from now on."""
    gc.disable()


def collect_from_now_on() -> None:
    """Look for garbage again, and never more at what there is by now."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
