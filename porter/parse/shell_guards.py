"""Which commands of a shell script run on an AMD machine: if/elif/else and case whose condition names one of the vendors."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.model import Live
from porter.parse.amd_words import Chain, Truth, narrowest, says_amd, says_nvidia
from porter.parse.shell_words import Command

_NEGATIONS = frozenset(("!=", "-z", "-ne", "!"))
MAX_NEST = 200


@dataclass
class _Branch:
    condition: list[Command] = field(default_factory=list)
    otherwise: bool = False
    live: Live = Live.UNKNOWN


@dataclass
class _Frame:
    keyword: str
    branches: list[_Branch] = field(default_factory=list)
    reading: bool = False  # commands now belong to the condition


def lives(commands: list[Command]) -> list[Live]:
    """The Live of every command, in order; code outside any test is YES."""
    frames: list[_Frame] = []
    held: list[tuple[_Branch, ...]] = []
    for command in commands:
        for keyword in command.lead:
            _keyword(frames, keyword)
        inside = tuple(frame.branches[-1] for frame in frames[:MAX_NEST] if frame.branches and not frame.reading)
        held.append(inside)
        _collect(frames, command)
    for frame in frames:
        _resolve(frame)
    return [narrowest(branch.live for branch in inside) for inside in held]


def _keyword(frames: list[_Frame], keyword: str) -> None:
    if keyword in ("if", "case"):
        branches = [_Branch()] if keyword == "if" else []
        frames.append(_Frame(keyword, branches, reading=True))
    elif not frames:
        return
    elif keyword == "then" and frames[-1].keyword == "if":
        frames[-1].reading = False
    elif keyword == "elif" and frames[-1].keyword == "if":
        frames[-1].branches.append(_Branch())
        frames[-1].reading = True
    elif keyword == "else" and frames[-1].keyword == "if":
        frames[-1].branches.append(_Branch(otherwise=True))
        frames[-1].reading = False
    elif (keyword, frames[-1].keyword) in (("fi", "if"), ("esac", "case")):
        _resolve(frames.pop())


def _collect(frames: list[_Frame], command: Command) -> None:
    if not frames:
        return
    frame = frames[-1]
    if frame.keyword == "if" and frame.reading:
        frame.branches[-1].condition.append(command)
    elif frame.keyword == "case":
        if command.stop == ")" and frame.reading:
            words = [word for word in command.words if word.text != "in"]
            default = bool(words) and words[-1].text == "*"
            frame.branches.append(_Branch([command], otherwise=default))
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
