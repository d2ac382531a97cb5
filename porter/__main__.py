"""The program, also as `python -m porter`: an interrupt while it loads ends it in silence, since there is nothing to put right."""

import gc
import signal


def main() -> None:
    """Load the command line and run it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else somebody wants interrupts ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from porter.cli import main as command

    signal.signal(signal.SIGINT, before)
    try:
        command(prog_name="porter")
    finally:
        gc.freeze()  # what is left goes with the process: looking for circles in it would only take time


if __name__ == "__main__":
    main()
