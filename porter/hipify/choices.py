"""Choices: what a run of the translation makes of every CUDA name, given its options."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import msgspec

from porter.hipify import api
from porter.hipify.api import ApiName, Version


class Options(msgspec.Struct, frozen=True):
    """Options of the translation, with hipify-perl's meaning where it has them.

    ``launch`` is "cuda" (kept) or "ggl" (hipLaunchKernelGGL); ``rocm`` decides what exists, empty for the newest;
    ``runtime_is_implicit`` says that nvcc compiles the file as CUDA and gives it cuda_runtime.h unasked; ``keep`` are names
    that the project defines itself, which stay as they are wherever they stand.
    """

    roc: bool = False
    miopen: bool = False
    experimental: bool = False
    launch: str = "cuda"
    rocm: str = ""
    runtime_is_implicit: bool = False
    keep: frozenset[str] = frozenset()


def gets_runtime_unasked(path: str) -> bool:
    """Whether nvcc compiles a file of this name as CUDA, so that it, and all it includes, has the runtime header unasked."""
    return path.endswith((".cu", ".cu.in"))


class Choice(msgspec.Struct, frozen=True, gc=False):
    """What becomes of one name: its new name, or the reason it stays; ``remark`` is for names that convert and have a catch."""

    name: str
    api: str
    kind: str
    target: bytes = b""
    reason: str = ""
    remark: str = ""
    v2_only: bool = False
    names: str = "hip"  # whose names the target is: hip, roc, miopen


class Chosen(Mapping[bytes, Choice]):
    """What becomes of the headers, by path, or of all other names; each is decided when it is asked for."""

    def __init__(self, options: Options, hip: Version, headers: bool) -> None:
        """Nothing is decided yet."""
        self._options, self._hip, self._headers = options, hip, headers
        self._found: dict[bytes, Choice | None] = {}

    def _choice(self, name: bytes) -> Choice | None:
        if name not in self._found:
            entry = api.lookup(name.decode()) if name in api.names() else None
            fits = entry is not None and (entry.kind == "header") is self._headers
            self._found[name] = _choose(entry, self._options, self._hip) if entry is not None and fits else None
        return self._found[name]

    def __getitem__(self, name: bytes) -> Choice:
        """The choice for a name; raises KeyError for one that stays as it is."""
        found = self._choice(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[bytes]:
        """The names that have a choice."""
        return (name.encode() for name in api.table() if self._choice(name.encode()) is not None)

    def __len__(self) -> int:
        """How many names have a choice."""
        return sum(1 for _ in self)


class Choices(msgspec.Struct, frozen=True, eq=False):
    """All choices of a run: headers by path, other names by name. Made once for each set of options, and told apart by identity."""

    headers: Chosen
    names: Chosen
    hip: Version


# torch.utils.hipify and Caffe2 names are common words elsewhere, so they count only in a file that speaks of caffe2.
CAFFE2 = "caffe2"
_SAME_EVERYWHERE = ("supported", "experimental")


def choices(options: Options) -> Choices:
    """The choices for these options, names to ``keep`` among them; raises ConfigError for an unknown ROCm version."""
    return _choices(options.roc, options.miopen, options.experimental, options.rocm)


@functools.lru_cache(maxsize=16)  # no other option has a say
def _choices(roc: bool, miopen: bool, experimental: bool, rocm: str) -> Choices:
    options = Options(roc, miopen, experimental, rocm=rocm)
    hip = api.hip_version(rocm)
    return Choices(Chosen(options, hip, headers=True), Chosen(options, hip, headers=False), hip)


def _choose(entry: ApiName, options: Options, hip: Version) -> Choice | None:
    """The choice for one name; None for a name that HIP's headers take as it is."""
    made = functools.partial(Choice, entry.name, entry.api, entry.kind, v2_only="v2-only" in entry.notes)
    if entry.support == "removed-include":
        return made()
    to_roc = _to_roc(entry, options)
    target = _former(entry, (entry.roc or entry.hip) if to_roc else entry.hip, hip)
    names = ("miopen" if entry.api == "dnn" else "roc") if to_roc else "hip"
    reason = _missing(entry, options, hip, to_roc)
    if reason and _is_common_word(entry):
        return None
    if reason:
        return made(reason=reason)
    if target == entry.name or not target:
        return None
    remark = f"deprecated in HIP {entry.hip_deprecated}" if entry.hip_deprecated and api.version(entry.hip_deprecated) <= hip else ""
    return made(target=target.encode(), names=names, remark=remark)


def _has_arrived(entry: ApiName, hip: Version) -> bool:
    """Whether a name that HIPIFY calls experimental is in the headers of a HIP release by now."""
    return "hip7.1-declared" in entry.notes and hip >= (7, 1)


def _to_roc(entry: ApiName, options: Options) -> bool:
    """Whether the name goes to a roc library or MIOpen rather than to a hip one."""
    if entry.api == "dnn" or entry.roc.startswith("miopen"):
        return options.miopen or (options.roc and entry.api == "dnn")
    return options.roc and (entry.api in api.ROC_LIBRARIES or bool(entry.roc))


def _former(entry: ApiName, name: str, hip: Version) -> str:
    """The name in a HIP version, which is another for a few that were renamed later: the same words but for spelling."""
    for former in entry.before:
        old, _, renamed = former.partition("@")
        if hip < api.version(renamed) and old.startswith("roc") == name.startswith("roc"):
            return old
    return name


def _is_common_word(entry: ApiName) -> bool:
    """Whether a name that HIP lacks is one that programs give to things of their own: saturate, umin, memoryBarrier."""
    if entry.kind == "device-function":
        return not entry.name.startswith(("__", "make_", "h2tanh", "htanh"))
    return entry.name == "memoryBarrier"


def _missing(entry: ApiName, options: Options, hip: Version, to_roc: bool) -> str:
    """Why a name cannot be converted, empty where it can."""
    if to_roc and "no-roc" in entry.notes:
        return "unsupported"
    if entry.support == "roc-only":
        return "" if to_roc and entry.roc else "unsupported"
    if entry.support == "experimental":
        return "" if options.experimental or _has_arrived(entry, hip) else "experimental"
    if entry.support != "supported":
        return "unsupported"
    if entry.hip_removed and api.version(entry.hip_removed) <= hip:
        return f"removed in HIP {entry.hip_removed}"
    if not to_roc and not entry.before and entry.hip_added and api.version(entry.hip_added) > hip:
        return f"added in HIP {entry.hip_added}"
    return ""
