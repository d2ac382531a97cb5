"""One Python requirement as pip, PEP 508 and lock files write it: name, specifier, marker, URL, and whether Linux on x86-64 wants it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from porter.model import Live
from porter.parse.sheet import Sheet

MAX_LINE = 4_000
_URL = re.compile(r"(?:git|hg|svn|bzr)\+\w+://|https?://|file:|ftp://", re.IGNORECASE)
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9][A-Za-z0-9._-]*)")
_OPTIONS = re.compile(r"\s--?(?:hash|global-option|install-option|config-settings?)\b.*", re.DOTALL)
_EXTRA = re.compile(r"extra\s*[!=]=\s*['\"]([^'\"]{1,100})['\"]")
_LOCAL = re.compile(r"[.~/\\]|[A-Za-z]:[\\/]")
_REVISION = re.compile(r"(?<=[^/])@")  # an @ that begins a part of the path is of a name: @scope/repository
_SUBFOLDER = re.compile(r"[#&]subdirectory=([\w./-]+)")
SUBPROJECTS = {("flash-attention", "hopper"): "flash-attn-3", ("flash-attention", "flash_attn/cute"): "flash-attn-4"}
PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")


@dataclass(frozen=True)
class Need:
    """A requirement that was understood: PEP 503 name, details for a fact, and whether an AMD Linux build installs it."""

    name: str
    detail: dict[str, str] = field(default_factory=dict)
    live: Live = Live.YES


def read_requirement(text: str) -> Need | None:
    """The need in one requirement; None for local paths and blanks. Raises ValueError with the reason for a bad one."""
    text = _OPTIONS.sub("", text[:MAX_LINE]).strip()
    if not text:
        return None
    if _URL.match(text):
        return _from_url(text)
    if _LOCAL.match(text):
        return None
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(str(error).splitlines()[0][:160]) from None
    marker = str(requirement.marker) if requirement.marker is not None else ""
    detail = {
        "specifier": str(requirement.specifier),
        "extras": ",".join(sorted(requirement.extras)),
        "marker": marker,
        "url": requirement.url or "",
    }
    return Need(canonicalize_name(requirement.name), {k: v for k, v in detail.items() if v}, marker_live(marker))


def add_requirement(sheet: Sheet, text: str, begin: int, end: int, **more: str) -> None:
    """The fact of one requirement, or the problem that it is not understood."""
    try:
        need = read_requirement(text)
    except ValueError as error:
        sheet.problem(begin, f"requirement not understood: {error}")
        return
    if need is not None:
        sheet.add("requirement", need.name, begin, end, need.live, **more, **need.detail)


def _from_url(text: str) -> Need | None:
    url, _, marker = text.partition(" ;")
    url = url.split()[0]
    name = name_in_url(url)
    if not name:
        return None
    marker = marker.strip()
    detail = {"url": url, "marker": marker}
    return Need(name, {k: v for k, v in detail.items() if v}, marker_live(marker))


def name_in_url(url: str) -> str:
    """PEP 503 name of what a URL installs: its egg, the wheel's or sdist's name, or the repository's; empty if unknown."""
    egg = _EGG.search(url)
    if egg:
        return canonicalize_name(egg[1])
    path = url.split("#")[0].split("?")[0].rstrip("/")
    last = path.rsplit("/", 1)[-1].replace("%2B", "+").replace("%2b", "+")
    if last.endswith(".whl"):
        return canonicalize_name(last.split("-")[0])
    for suffix in (".tar.gz", ".zip", ".tar.bz2", ".tgz"):
        if last.endswith(suffix):
            stem = last[: -len(suffix)]
            return canonicalize_name(stem.rsplit("-", 1)[0]) if "-" in stem else ""
    if "+" in url.split("://")[0]:
        below = path.partition("://")[2].partition("/")[2] or last  # behind the host
        repository = canonicalize_name(_REVISION.split(below, maxsplit=1)[0].rsplit("/", 1)[-1].removesuffix(".git"))
        folder = _SUBFOLDER.search(url)
        return SUBPROJECTS.get((repository, folder[1].strip("/")), repository) if folder else repository
    return ""


def marker_live(marker: str) -> Live:
    """Whether a PEP 508 marker lets any supported Python on Linux x86-64 install the requirement; UNKNOWN if it can't be read."""
    if not marker:
        return Live.YES
    try:
        parsed = Marker(marker)
        extras = ["", *_EXTRA.findall(marker)[:20]]
        for python in PYTHONS:
            for extra in extras:
                if parsed.evaluate(_environment(python, extra)):
                    return Live.YES
    except Exception:  # packaging raises several unrelated classes for markers it can't compare
        return Live.UNKNOWN
    return Live.NO


def _environment(python: str, extra: str) -> dict[str, str]:
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": "posix",
        "platform_machine": "x86_64",
        "platform_release": "6.8.0",
        "platform_system": "Linux",
        "platform_version": "#1 SMP",
        "platform_python_implementation": "CPython",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
        "extra": extra,
    }
