"""Loops: where a counter starts, how it steps, whether it halves or doubles."""

from __future__ import annotations

from porter.flow.env import Env
from porter.flow.event import Loop
from porter.flow.expr import Expr
from porter.flow.values import Value


def loop_start(env: Env, loop: Loop) -> Value:
    """The value with which a loop's variable starts."""
    return env.value(loop.start) if loop.start is not None else Value("other")


def steps(loop: Loop) -> tuple[str, Expr | None]:
    """Operator and operand of a loop's step: ``o >>= 1`` and ``o = o / 2`` alike."""
    step = loop.step
    if step is None or step.kind != "assign":
        return "", None
    if len(step.args) < 2:
        return step.op, None
    if step.op == "=" and step.args[1].kind == "binary" and len(step.args[1].args) == 2:
        return step.args[1].op + "=", step.args[1].args[1]
    return step.op, step.args[1]


def halves(loop: Loop) -> bool:
    """True for a loop that halves its variable."""
    op, operand = steps(loop)
    return operand is not None and operand.kind == "num" and ((op == ">>=" and operand.op == "1") or (op == "/=" and operand.op == "2"))


def doubles(loop: Loop) -> bool:
    """True for a loop that doubles its variable."""
    op, operand = steps(loop)
    return operand is not None and operand.kind == "num" and ((op == "<<=" and operand.op == "1") or (op == "*=" and operand.op == "2"))
