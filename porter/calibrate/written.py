"""Writes a fitted model back into its table: weights, knots and back-test change, everything a person wrote stays."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import msgspec

from porter.calibrate.backtest import Measured
from porter.errors import InputError
from porter.estimate.features import LineModel

METHOD = "stratified 10-fold cross-validation, mean of five: each program predicted by a model fitted without it"


def version_of(model: LineModel) -> str:
    """A short name of exactly these numbers: eight hex digits over base, exponent, weights and knots."""
    numbers = (model.base, model.exponent, [(one.name, one.weight) for one in model.feature], model.knot)
    return hashlib.sha256(msgspec.json.encode(numbers)).hexdigest()[:8]


def write(path: Path, model: LineModel, result: Measured, corpus: str) -> None:
    """The table at ``path`` with new numbers; raises InputError when it has another shape."""
    text = path.read_text(encoding="utf-8")
    head, _, tail = text.partition("[[knot]]")
    _, found, rest = tail.partition("[other]")
    other, has_test, _ = rest.partition("[backtest]")
    if not (found and has_test):
        raise InputError(f"{path}: is no table of the hand-line model", "start from rules/effort/hand_lines.toml")
    weights = iter(feature.weight for feature in model.feature)
    head = re.sub(r"(?m)^base = .*$", f"base = {model.base!r}", head)
    head = re.sub(r"(?m)^weight = .*$", lambda _: f"weight = {next(weights)!r}", head)
    knots = "\n\n".join(
        f"[[knot]]\nscore = {k.score!r}\np10 = {k.p10!r}\np50 = {k.p50!r}\np80 = {k.p80!r}\np90 = {k.p90!r}" for k in model.knot
    )
    numbers = (
        f'version = "{version_of(model)}"\ncorpus = "{corpus}"\nprograms = {result.programs}\ncoverage = {result.coverage:.3f}\n'
        f"width = {result.width:.2f}\nrank_correlation = {result.rank_correlation:.3f}\nrank_of_loc = {result.rank_of_loc:.3f}\n"
        f'bias = {result.bias:.2f}\nmethod = "{METHOD}"\n'
    )
    path.write_text(f"{head}{knots}\n\n[other]{other}[backtest]\n{numbers}", encoding="utf-8")
