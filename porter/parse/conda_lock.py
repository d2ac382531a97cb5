"""Lock files of conda-lock (version 1) and pixi: the packages for Linux on x86-64, once each, and who pulled them in."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.parse import Parsed
from porter.parse.sheet import Sheet
from porter.parse.yaml_tree import Node

MAX_PACKAGES = 20_000
PLATFORMS = ("linux-64", "noarch", "")
_CONDA_URL = re.compile(r"/(?:linux-64|noarch)/(?P<name>[A-Za-z0-9_.+-]+?)-[^-/]+-[^-/]+\.(?:conda|tar\.bz2)\Z")


def is_lock(document: Node) -> bool:
    """Whether a document is a lock file: a list of packages with managers or addresses, not a recipe's package section."""
    return any((held := document.get(key)) is not None and held.items for key in ("package", "packages"))


def read(sheet: Sheet, documents: Iterable[Node]) -> Parsed:
    """Facts of a conda lock file: conda_package and requirement with locked=yes; ``extra["parents"]`` has who asks for each."""
    parents: dict[str, set[str]] = {}
    seen: set[str] = set()
    for document in documents:
        listed = document.get("package") or document.get("packages")
        for package in sheet.first(listed.items if listed is not None else [], MAX_PACKAGES, "packages"):
            name, kind = _named(package)
            if not name or package.text("platform") not in PLATFORMS:
                continue
            needs = package.get("dependencies") or package.get("depends")
            for below in _children(needs):
                parents.setdefault(below, set()).add(name)
            if name not in seen:
                seen.add(name)
                at = package.get("name") or package.get("conda") or package.get("pypi") or package
                version = package.text("version")
                sheet.add(kind, name, at.start, at.end, specifier=f"=={version}" if version else "", locked="yes")
    sheet.parsed.extra["parents"] = {name: above - {name} for name, above in parents.items()}
    return sheet.parsed


def _named(package: Node) -> tuple[str, str]:
    """Name and kind of fact of one entry; conda-lock writes the name, pixi an address."""
    if name := package.text("name"):
        pip = package.text("manager") == "pip" or package.get("pypi") is not None
        return re.sub(r"[-_.]+", "-", name).lower() if pip else name.lower(), "requirement" if pip else "conda_package"
    found = _CONDA_URL.search(package.text("conda"))
    return (found["name"].lower(), "conda_package") if found else ("", "")


def _children(needs: Node | None) -> list[str]:
    if needs is None:
        return []
    names = [key.value or "" for key, _ in needs.pairs] + [(item.value or "").split(" ")[0] for item in needs.items]
    return [name.lower() for name in names if name]
