"""What installers are asked for: pip, uv, poetry, conda, apt, dnf, yum, apk, zypper, curl, wget and CMake's -D settings."""

from __future__ import annotations

import re
from collections.abc import Callable

from porter.model import Live
from porter.parse.requirement_line import read_requirement
from porter.parse.sheet import Sheet
from porter.parse.shell_words import Word, names

Expand = Callable[[str], str]
Reader = Callable[[Sheet, list[Word], Live, Expand], None]

_SYSTEM = frozenset(("apt", "apt-get", "aptitude", "yum", "dnf", "microdnf", "tdnf", "apk", "zypper"))
_CONDA = frozenset(("conda", "mamba", "micromamba"))
_PIP = re.compile(r"pip[0-9.]*|pipx|uv|poetry|pdm|pipenv|easy_install")
_PIP_VALUES = names(
    "-r --requirement -c --constraint -t --target --prefix --root --python -p --cache-dir --timeout --retries --progress-bar -b --build "
    "--platform --abi --implementation --python-version --trusted-host --index-strategy --torch-backend --group --extra --config-settings "
    "--no-binary --only-binary --upgrade-strategy --override --build-constraint --log --src --exclude-newer --resolution --prerelease "
    "--no-build-isolation-package --python-platform --proxy --cert --global-option --config-setting -C"
)
_INDEX = frozenset(("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--index", "--default-index", "--pypi-url"))
_CONDA_VALUES = frozenset(("-n", "--name", "-p", "--prefix", "-f", "--file", "--solver"))
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._:-]*")
_ADDRESS = re.compile(r"(?:https?|ftp|s3|deb https?)://\S+")
_IN_LIST = re.compile(r"https?://[^\s\"']+")
_CACHE = re.compile(r"-D\s*([A-Za-z_]\w*)(?::[A-Z]+)?(?:=(.*))?", re.DOTALL)


def reader_of(name: str, words: list[Word]) -> Reader | None:
    """The reader for an installing command line, or None where nothing is installed by it."""
    program = name.split()[0]
    verbs = [word.text for word in words[:6] if not word.text.startswith("-")]
    if program in _SYSTEM:
        return _system if set(verbs) & {"install", "add", "in", "localinstall", "reinstall"} else None
    if program in _CONDA:
        return _conda if set(verbs) & {"install", "create", "update"} else None
    if _PIP.fullmatch(program):
        return _pip if set(verbs[:2]) & {"install", "add", "wheel", "download"} else None
    if name in ("git clone", "git submodule"):
        return _clone
    return {
        "curl": _download,
        "aria2c": _download,
        "axel": _download,
        "wget": _download,
        "cmake": _cmake,
        "add-apt-repository": _download,
        "ccmake": _cmake,
    }.get(program)


def _after_verb(words: list[Word], verbs: frozenset[str]) -> list[Word]:
    for at, word in enumerate(words):
        if word.text in verbs:
            return words[at + 1 :]
    return words


def _system(sheet: Sheet, words: list[Word], live: Live, expand: Expand) -> None:
    for word in _after_verb(words, frozenset(("install", "add", "in", "localinstall", "reinstall"))):
        text = expand(word.text)
        if text.startswith(("-", "$")):
            continue
        if "://" in text:
            sheet.add("index_url", text, word.start, word.end, live)
            continue
        name, _, version = text.partition("=")
        name = re.split(r"[<>~/]", name)[0]
        if _PACKAGE.fullmatch(name) or "${" in name or "*" in name or "-$" in name:
            sheet.add("apt_package", name.split(":")[0], word.start, word.end, live, version=version)


def _conda(sheet: Sheet, words: list[Word], live: Live, expand: Expand) -> None:
    rest = _after_verb(words, frozenset(("install", "create", "update")))
    skip = False
    for at, word in enumerate(rest):
        text = expand(word.text)
        if skip:
            skip = False
        elif text in ("-c", "--channel") and at + 1 < len(rest):
            skip = True
            sheet.add("index_url", f"conda:{expand(rest[at + 1].text)}", word.start, rest[at + 1].end, live)
        elif text.startswith("-"):
            skip = text in _CONDA_VALUES
        else:
            conda_package(sheet, text, word.start, word.end, live)


def conda_package(sheet: Sheet, text: str, start: int, end: int, live: Live = Live.YES) -> None:
    """Note a conda match spec such as `nvidia::cuda-toolkit=12.4`, with its channel as an index of its own."""
    channel, _, spec = text.rpartition("::")
    name = re.split(r"[\s=<>!~\[]", spec.strip(), maxsplit=1)[0].lower()
    if not re.fullmatch(r"[a-z0-9_][a-z0-9._-]*", name):
        return
    rest = spec.strip()[len(name) :].strip()
    sheet.add("conda_package", name, start, end, live, specifier=rest, channel=channel)
    if channel:
        sheet.add("index_url", f"conda:{channel}", start, end, live)


def _pip(sheet: Sheet, words: list[Word], live: Live, expand: Expand) -> None:
    rest = _after_verb(words, frozenset(("install", "add", "wheel", "download")))
    skip = False
    for at, word in enumerate(rest):
        text = expand(word.text)
        option, _, value = text.partition("=")
        following = rest[at + 1] if at + 1 < len(rest) else None
        if skip:
            skip = False
        elif option in _INDEX and (value or following):
            end = word.end if value or following is None else following.end
            target = value or expand(following.text if following else "")
            sheet.add("index_url", target, word.start, end, live, option=option)
            skip = not value
        elif text.startswith("-"):
            skip = text in _PIP_VALUES
        else:
            _pip_need(sheet, text, word, live)


def _pip_need(sheet: Sheet, text: str, word: Word, live: Live) -> None:
    try:
        need = read_requirement(text)
    except ValueError:
        # a version that is a shell variable can't be parsed, but the name in front of it is plain
        match = re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]]*\])?\s*(?:[=<>!~@]|$)", text)
        if match:
            name = re.sub(r"[-_.]+", "-", match[1]).lower()
            sheet.add("requirement", name, word.start, word.end, live, specifier=text[match.end(1) :])
        return
    if need is not None:
        sheet.add("requirement", need.name, word.start, word.end, live if need.live is Live.YES else need.live, **need.detail)


def read_addresses(sheet: Sheet, words: list[Word], live: Live, expand: Expand, option: str = "repository") -> None:
    """Web addresses among the words of a command, as indexes."""
    for word in words:
        text = expand(word.text)
        if _ADDRESS.fullmatch(text):
            sheet.add("index_url", text, word.start, word.end, live, option=option)


def _download(sheet: Sheet, words: list[Word], live: Live, expand: Expand) -> None:
    for word in words:
        text = expand(word.text)
        if not _ADDRESS.fullmatch(text):
            continue
        sheet.add("index_url", text, word.start, word.end, live, option="download")
        if text.split("?")[0].endswith(".whl"):
            _pip_need(sheet, text, word, live)


def _clone(sheet: Sheet, words: list[Word], live: Live, expand: Expand) -> None:
    read_addresses(sheet, words, live, expand, "clone")


def read_source_list(sheet: Sheet, words: list[Word], live: Live, expand: Expand) -> None:
    """The package repositories in a line for apt's list of sources that a script writes: `echo "deb https://… /"`."""
    for word in words:
        text = expand(word.text)
        if text.startswith(("deb ", "deb-src ")) and (found := _IN_LIST.search(text)):
            sheet.add("index_url", found[0], word.start, word.end, live, option="repository")


def _cmake(sheet: Sheet, words: list[Word], live: Live, expand: Expand) -> None:
    for at, word in enumerate(words):
        text, end = word.text, word.end
        if text == "-D" and at + 1 < len(words):
            text, end = text + words[at + 1].text, words[at + 1].end
        match = _CACHE.fullmatch(text)
        if match:
            sheet.add("cmake_var", match[1], word.start, end, live, value=expand(match[2] or ""), access="set")
