"""Ctrl-C that Python drops is not lost."""

from __future__ import annotations

import os
import signal
import warnings

import pytest

from porter import interrupts


class Leaving:
    """What an interrupt hits when the signal arrives while an object is taken apart: Python prints it and goes on."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_inside_a_del_is_raised_at_the_next_look() -> None:
    with interrupts.kept():
        interrupts.look()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = Leaving()
            del one
        with pytest.raises(KeyboardInterrupt):
            interrupts.look()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with interrupts.kept():
        interrupts.look()  # the next command begins anew


def test_a_handler_of_somebody_else_stays() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.kept():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
