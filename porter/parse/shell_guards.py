"""Which commands of a shell script run on an AMD machine: if/elif/else and case whose condition names one of the vendors."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.model import Live
from porter.parse.amd_words import Chain, Truth, narrowest, says_amd, says_nvidia
from porter.parse.shell_words import Command

MAX_BACK = 20  # tests inside conditions of tests that are looked through
_NEGATIONS = frozenset(("!=", "-z", "-ne", "!"))


@dataclass
class _Branch:
    condition: list[Command] = field(default_factory=list)
    otherwise: bool = False
    live: Live = Live.UNKNOWN
    outer: _Branch | None = None


@dataclass
class _Frame:
    keyword: str
    branches: list[_Branch] = field(default_factory=list)
    reading: bool = False  # commands now belong to the condition


def lives(commands: list[Command]) -> list[Live]:
    """The Live of every command, in order; code outside any test is YES."""
    frames: list[_Frame] = []
    branches: list[_Branch] = []
    held: list[_Branch | None] = []
    for command in commands:
        for keyword in command.lead:
            _keyword(frames, branches, keyword)
        held.append(_innermost(frames))
        _collect(frames, branches, command)
    for frame in frames:
        _resolve(frame)
    for branch in branches:  # outer branches come first
        if branch.outer is not None:
            branch.live = narrowest((branch.outer.live, branch.live))
    return [branch.live if branch is not None else Live.YES for branch in held]


def _innermost(frames: list[_Frame]) -> _Branch | None:
    """The branch whose commands are being read; a condition belongs to the place around its test."""
    for frame in frames[: -MAX_BACK - 1 : -1]:
        if frame.branches and not frame.reading:
            return frame.branches[-1]
    return None


def _add(frames: list[_Frame], branches: list[_Branch], branch: _Branch) -> None:
    branch.outer = _innermost(frames[:-1][-MAX_BACK:])
    frames[-1].branches.append(branch)
    branches.append(branch)


def _keyword(frames: list[_Frame], branches: list[_Branch], keyword: str) -> None:
    if keyword in ("if", "case"):
        frames.append(_Frame(keyword, reading=True))
        if keyword == "if":
            _add(frames, branches, _Branch())
    elif not frames:
        return
    elif keyword == "then" and frames[-1].keyword == "if":
        frames[-1].reading = False
    elif keyword == "elif" and frames[-1].keyword == "if":
        _add(frames, branches, _Branch())
        frames[-1].reading = True
    elif keyword == "else" and frames[-1].keyword == "if":
        _add(frames, branches, _Branch(otherwise=True))
        frames[-1].reading = False
    elif (keyword, frames[-1].keyword) in (("fi", "if"), ("esac", "case")):
        _resolve(frames.pop())


def _collect(frames: list[_Frame], branches: list[_Branch], command: Command) -> None:
    if not frames:
        return
    frame = frames[-1]
    if frame.keyword == "if" and frame.reading:
        frame.branches[-1].condition.append(command)
    elif frame.keyword == "case":
        if command.stop == ")" and frame.reading:
            words = [word for word in command.words if word.text != "in"]
            default = bool(words) and words[-1].text == "*"
            _add(frames, branches, _Branch([command], otherwise=default))
            frame.reading = False
            command.pattern = True
        elif command.stop == ";;":
            frame.reading = True


def _resolve(frame: _Frame) -> None:
    """Decide a chain: a branch for AMD shuts the others; NVIDIA's is shut only where one for AMD stands beside it."""
    amd = [_says(branch) for branch in frame.branches]
    ported = any(truth is not None for truth in amd)
    chain = Chain()
    for branch, truth in zip(frame.branches, amd, strict=True):
        if truth is None and ported and not branch.otherwise and _nvidia(branch):
            truth = False
        chain.branch(True if branch.otherwise else truth)
        branch.live = chain.live
    if True in amd:
        for branch, truth in zip(frame.branches, amd, strict=True):
            branch.live = Live.YES if truth else Live.NO if branch.otherwise or _nvidia(branch) else branch.live


def _says(branch: _Branch) -> Truth:
    """True for `= rocm`, False for `!= rocm`, None for anything else."""
    if branch.otherwise:
        return None
    texts = [word.text for command in branch.condition for word in command.words if word.text != "in"]
    if not any(says_amd(text) for text in texts) or any(says_nvidia(text) for text in texts):
        return None
    leads = [keyword for command in branch.condition for keyword in command.lead]
    negative = any(text in _NEGATIONS for text in texts) or "!" in leads
    return not negative


def _nvidia(branch: _Branch) -> bool:
    return any(says_nvidia(word.text) for command in branch.condition for word in command.words)
