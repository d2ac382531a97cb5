"""`python -m porter` is the same as `porter`."""

from porter.cli import main

main(prog_name="porter")
