"""YAML: Kubernetes, Helm, compose, CI and plain configuration: key paths, images, environment, command lines and scripts."""

from __future__ import annotations

import re

from porter.model import Live, SourceFile
from porter.parse import Parsed
from porter.parse.command_line import Invocation, read_command, read_flags, server_of
from porter.parse.json_leaves import keys_of
from porter.parse.sheet import Sheet
from porter.parse.shell_script import read_script
from porter.parse.shell_words import Word
from porter.parse.vendor_images import VENDOR_IMAGE
from porter.parse.yaml_tree import Node, blanked, load, walk

MAX_LEAVES = 30_000
MAX_VALUE = 200
_IMAGE = re.compile(r"(?:docker://)?[a-z0-9_$][\w.$-]*(?::\d+)?(?:/[\w.$-]+)*(?::[\w.$-]+)?(?:@sha256:[0-9a-f]{8,64})?", re.IGNORECASE)
_ENV_BLOCKS = frozenset(
    ("env", "environment", "variables", "build_args", "environment_variables", "envVars", "extraEnv", "env_vars", "args")
)
_SCRIPTS = frozenset(
    ("run", "script", "before_script", "after_script", "commands", "cmds", "cmd", "shell", "setup", "inlineScript", "bash")
)
_ARGV = frozenset(("command", "args", "entrypoint"))
Scripts = list[tuple[Node, Live]]
_NAME = re.compile(r"[A-Za-z_]\w*")


def parse(file: SourceFile) -> Parsed:
    """Facts of a YAML file; templates are blanked first, and scripts inside are read as shell."""
    sheet = Sheet(file, "yaml")
    text = blanked(sheet.text)
    scripts: Scripts = []
    for document in load(sheet, text):
        if document.style == "map" and document.text("kind") == "CustomResourceDefinition":
            continue  # a schema: it says what may be asked for, and asks for nothing
        for path, node, key in walk(document):
            if len(sheet.parsed.facts) > MAX_LEAVES:
                sheet.problem(node.start, f"more than {MAX_LEAVES:,} facts in one file; the rest was not read")
                break
            if node.style == "map":
                _mapping(sheet, node, path, scripts)
            elif node.value is not None:
                _leaf(sheet, node, path, key)
                if key is not None and key.value == "patch" and "\n" in node.value:
                    _patch(sheet, node)
    _read_scripts(sheet, text, scripts)
    return sheet.parsed


def _leaf(sheet: Sheet, node: Node, path: str, key: Node | None) -> None:
    value = (node.value or "").strip()
    start = key.start if key is not None else node.start
    if path and len(value) <= MAX_VALUE and "\n" not in value:
        sheet.add("manifest_key", f"{path}={value}", start, max(_end(sheet, node), start), node.live, "host", value=value)


def _patch(sheet: Sheet, node: Node) -> None:
    """What a patch in a block of text sets (kustomize): pointers of a JSON patch, or leaves of a merge patch, at the text's place."""
    inner = Sheet(SourceFile(sheet.file.path, "yaml", (node.value or "").encode()), "yaml")
    for document in load(inner, inner.text):
        for path, leaf, _ in walk(document):
            value = (leaf.value or "").strip()
            if leaf.style == "map" or not value or len(value) > MAX_VALUE:
                continue
            is_pointer = path.rpartition(".")[2] == "path" and value.startswith("/")
            name = f"{keys_of(value)}=…" if is_pointer else f"{path}={value}"
            sheet.add("manifest_key", name, node.start, _end(sheet, node), node.live, "host", value="" if is_pointer else value)


def _end(sheet: Sheet, node: Node) -> int:
    """End of a scalar without the blank lines that YAML counts in."""
    end = node.end
    while end > node.start and sheet.text[end - 1 : end] in ("\n", " ", "\r", "\t"):
        end -= 1
    return end


def _mapping(sheet: Sheet, node: Node, path: str, scripts: Scripts) -> None:
    image = _images(sheet, node, path)
    for name, value in node.pairs:
        key = name.value or ""
        if key in _ENV_BLOCKS:
            value.live = node.live
            _environment(sheet, value)
        if key in _SCRIPTS:
            scripts += [(one, node.live) for one in (value.items or [value]) if one.value is not None]
        elif key in _ARGV:
            _argv(sheet, key, value, image, node.live, scripts)
        elif key == "uses" and (value.value or "").startswith("docker://"):
            _image(sheet, value, node.live)
    if node.get("name") is not None and node.get("value") is not None and node.get("command") is None:
        pair = node.text("name")
        setting = node.get("value")
        if pair.isupper() and setting is not None and _NAME.fullmatch(pair):
            first = node.pairs[0][0]
            sheet.add("env_var", pair, first.start, _end(sheet, setting), node.live, "host", value=setting.value or "", access="set")
    _arguments_joined(sheet, node, image)


def _images(sheet: Sheet, node: Node, path: str) -> str:
    """Note the image that a mapping names, in one string or as repository and tag; the image, or an empty text."""
    found = ""
    for name, value in node.pairs:
        key = (name.value or "").lower()
        named = key.endswith("image") or key in ("container", "base_image", "image_name", "newname")  # the last is kustomize's
        if value.value is not None and (named or VENDOR_IMAGE.fullmatch(value.value)):
            found = _image(sheet, value, node.live) or found
        elif key == "services" and value.style == "list":
            for item in value.items:
                _image(sheet, item, node.live)
    last = path.rsplit(".", 1)[-1].lower()
    repository = node.get("repository") or (node.get("name") if last == "image" else None)
    if (
        repository is not None
        and repository.value
        and (last.endswith("image") or node.get("tag") is not None or node.get("version") is not None)
    ):
        registry = node.text("registry")
        tag = node.text("tag") or node.text("version")
        if "://" not in repository.value:
            found = "/".join(part for part in (registry, repository.value, node.text("image")) if part) + (f":{tag}" if tag else "")
            sheet.add("image", found, repository.start, _end(sheet, repository), node.live, "host")
    return found


def _image(sheet: Sheet, node: Node, live: Live) -> str:
    text = (node.value or "").strip()
    if not _IMAGE.fullmatch(text) or not ("/" in text or ":" in text or "-" in text) or text.lower() in ("true", "false"):
        return ""
    image = text.removeprefix("docker://")
    sheet.add("image", image, node.start, _end(sheet, node), live, "host")
    return image


def _environment(sheet: Sheet, node: Node) -> None:
    """`env`, `environment` and `variables`: a mapping, or a list of NAME=value; the list of name and value is a mapping each."""
    for name, value in node.pairs:
        if name.value and name.value.isupper() and _NAME.fullmatch(name.value):
            setting = value.value if value.value is not None else value.text("value") or value.text("default")
            sheet.add(
                "env_var", name.value, name.start, max(name.end, _end(sheet, value)), node.live, "host", value=setting or "", access="set"
            )
    for item in node.items:
        name_text, equals, setting = (item.value or "").partition("=")
        if equals and name_text.isupper() and _NAME.fullmatch(name_text):
            sheet.add("env_var", name_text, item.start, _end(sheet, item), node.live, "host", value=setting, access="set")


def _argv(sheet: Sheet, key: str, node: Node, image: str, live: Live, scripts: Scripts) -> None:
    """A command as a list of words or as one shell text."""
    if node.value is not None:
        if node.value.lstrip().startswith("-") and server_of(image):
            read_flags(sheet, server_of(image), _split(node), live)
        elif node.value.strip():
            scripts.append((node, live))
        return
    items = [item for item in node.items if item.value is not None]
    shell = [at for at, item in enumerate(items) if re.fullmatch(r"-[a-z]*c", item.value or "")]
    if items and (items[0].value or "").rsplit("/", 1)[-1] in ("sh", "bash") and shell and len(items) > shell[0] + 1:
        scripts.append((items[shell[0] + 1], live))
    elif key == "args" and len(items) == 1 and ("\n" in (items[0].value or "") or " " in (items[0].value or "")):
        scripts.append((items[0], live))
    elif key != "args" and any(" " in (item.value or "").strip() and not (item.value or "").startswith(("-", "{")) for item in items[:1]):
        scripts += [(item, live) for item in items]


def _arguments_joined(sheet: Sheet, node: Node, image: str) -> None:
    """`command` and `args` lists of one container as one command line; flags alone belong to what the image starts."""
    words: list[Word] = []
    for key in ("entrypoint", "command", "args"):
        listed = node.get(key)
        if listed is not None and listed.items:
            items = [item for item in listed.items if item.value is not None]
            words += [Word(item.value or "", item.start, _end(sheet, item), True) for item in items[:500]]
    if not words or " " in words[0].text.strip() or (words[0].text.rsplit("/", 1)[-1] in ("sh", "bash") and len(words) > 1):
        return
    split = [part for word in words for part in _split_word(word)]
    if split[0].text.startswith("-"):
        server = server_of(image) or "container"
        read_flags(sheet, server, split, node.live)
    else:
        read_command(sheet, Invocation(split, node.live))


def _split_word(word: Word) -> list[Word]:
    """`--flag value` written as one list item becomes two words at one place."""
    if word.text.startswith("--") and " " in word.text.strip() and "{" not in word.text:
        flag, _, value = word.text.strip().partition(" ")
        return [Word(flag, word.start, word.end), Word(value.strip(), word.start, word.end)]
    return [word]


def _split(node: Node) -> list[Word]:
    return [Word(part, node.start, node.end) for part in (node.value or "").split()[:500]]


def _read_scripts(sheet: Sheet, text: str, scripts: Scripts) -> None:
    """Read shell texts where they stand; line ends of folded and flowing scalars become blanks at equal length."""
    pieces: list[str] = []
    at = 0
    ranges: list[tuple[int, int, Live]] = []
    for node, live in sorted(scripts, key=lambda script: script[0].start):
        start, end = node.start, _end(sheet, node)
        if start < at:
            continue
        if node.style in ("|", ">"):
            start = text.find("\n", start, end) + 1 or end
        elif node.style in ("'", '"'):
            start, end = start + 1, end - 1
        inner = text[start:end]
        pieces += [text[at:start], inner if node.style == "|" else inner.replace("\n", " ")]
        at = max(end, at)
        ranges.append((start, end, live))
    masked = "".join(pieces) + text[at:]
    for start, end, live in ranges:
        read_script(sheet, masked, start, end, live)
