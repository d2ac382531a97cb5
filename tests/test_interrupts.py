"""Ctrl-C that Python drops is not lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from porter import interrupts


class Leaving:
    """What an interrupt hits when the signal arrives while an object is taken apart: Python prints it and goes on."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


class Failing:
    """An object whose end goes wrong by itself."""

    def __del__(self) -> None:
        raise ValueError("not for us")


def test_an_interrupt_inside_a_del_comes_once_more(capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.unraisablehook
    with interrupts.kept():
        one = Leaving()
        with pytest.raises(KeyboardInterrupt):
            del one
            time.sleep(20)  # ended by the second signal
    assert sys.unraisablehook is before
    assert capfd.readouterr().err == ""


def test_other_errors_inside_a_del_go_where_they_went(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda dropped: told.append(dropped.exc_type))
    with interrupts.kept():
        one = Failing()
        del one
    assert told == [ValueError]


def test_the_handler_of_the_signal_stays() -> None:
    """One of our own would have to bear a second signal while it works on the first: whatever forwards Ctrl-C sends two."""
    for handler in (signal.default_int_handler, signal.SIG_IGN):
        before = signal.signal(signal.SIGINT, handler)
        try:
            with interrupts.kept():
                assert signal.getsignal(signal.SIGINT) is handler
        finally:
            signal.signal(signal.SIGINT, before)


LOADING = """
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
runpy.run_module("porter", run_name="__main__")
"""


def test_an_interrupt_while_porter_loads_ends_it_in_silence() -> None:
    ended = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")
