"""Which image and wheels the runbook names: those known for the ROCm of the report, else the newest before it, which it then says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from porter.hipify.api import version
from porter.model import Source


class Image(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An exact image for one ROCm release and for repositories with a trait; ``page`` lists the tags of other releases."""

    trait: str
    rocm: str
    name: str
    page: str
    url: str
    says: str
    checked: str
    note: str = ""


class Wheels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An index of wheels for one ROCm release, and what to ask of it; ``{devices}`` in the package stands for the extras of the targets."""

    rocm: str
    index: str
    package: str
    url: str
    says: str
    checked: str


Known = TypeVar("Known", Image, Wheels)


class Software(msgspec.Struct, frozen=True):
    """What the two steps say: commands that come first, a sentence where the release is another, and the source."""

    commands: tuple[str, ...]
    sentence: str
    source: Source
    fields: dict[str, str] = {}


def image(images: Sequence[Image], words: Iterable[str], rocm: str) -> Software:
    """The image of the first trait in the table that the repository has."""
    has = set(words)
    trait = next(one.trait for one in images if not one.trait or one.trait in has)
    found = [one for one in images if one.trait == trait]
    best = _newest(found, rocm)
    some = best or found[0]
    if best is None:
        first = f'IMAGE="<a tag for ROCm {rocm} from {some.page}>"'
        sentence = f"porter knows no such image for ROCm {rocm} or older: look the tag up at {some.page}"
    elif same_release(best.rocm, rocm):
        first, sentence = f'IMAGE="{best.name}"', ""
    else:
        first = f'IMAGE="{best.name}"  # of ROCm {best.rocm}'
        sentence = (
            f"The newest tag known to porter ({best.checked}) is of ROCm {best.rocm}; "
            f"for ROCm {rocm} look up its tag at {best.page} and put it in its place"
        )
    sentence = ". ".join(text for text in (sentence, some.note) if text)
    return Software((first,), sentence, Source(some.url, some.says, some.checked))


def wheels(known: Sequence[Wheels], targets: Sequence[str], rocm: str) -> Software:
    """The index of wheels, and the version that was seen in it."""
    best = _newest(known, rocm)
    some = best or known[-1]
    devices = ",".join(f"device-{target}" for target in targets)
    fields = {"index": some.index, "package": some.package.format(devices=devices)}
    source = Source(some.url, some.says, some.checked)
    if best is not None and same_release(best.rocm, rocm):
        return Software((), "", source, fields)
    newest = f"The {'oldest' if best is None else 'newest'} wheel known to porter ({some.checked}) is of ROCm {some.rocm}"
    if some.index.endswith(f"rocm{some.rocm}"):
        sentence = f"{newest}, in an index of that release alone: look up the index for ROCm {rocm} at {some.url} and put it in its place"
        return Software((), sentence, source, fields)
    sentence = f"{newest}: list what the index has for ROCm {rocm} first, and take that version"
    return Software((f"python -m pip index versions torch --index-url {some.index}",), sentence, source, fields)


def same_release(known: str, asked: str) -> bool:
    """Whether two ROCm versions are of one minor release: 7.2 and 7.2.4 are."""
    return version(known)[:2] == version(asked)[:2]


def _newest(known: Sequence[Known], rocm: str) -> Known | None:
    """The newest of them that is not newer than the release asked for."""
    older = [one for one in known if version(one.rocm)[:2] <= version(rocm)[:2]]
    return max(older, key=lambda one: version(one.rocm), default=None)
