"""Rules: reads rules/<area>/<rule-id>.toml into Rule values, refuses what is incomplete, and says which file and why."""

from __future__ import annotations

import datetime
import fnmatch
import hashlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from porter import links, model, ready_rules
from porter.errors import RuleError
from porter.model import Action, Confidence, Effort, Example, Hours, Replacement, Rule, RuleFix, Severity, Source
from porter.parse import toml_text
from porter.regular import read_regular

STATUSES = (
    "works-as-is", "works-with-rocm-build", "drop-in-replacement", "partial", "replacement-with-changes", "no-equivalent",
)  # fmt: skip
DATA_FOLDERS = ("api", "hardware", "ptx", "effort")  # tables that are not rules
HOURS_A_UNIT = {"m": 1 / 60, "h": 1.0, "d": 8.0, "w": 40.0}
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
DURATION = re.compile(r"(\d+(?:\.\d+)?)([mhdw])\Z")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
GLOB = re.compile(r"(?:gfx[0-9a-z*?\[\]]*|\*)\Z")
MAX_WHY_WORDS = 120
MAX_BYTES = 16 * 2**20  # of one file; the largest table that travels with porter has less than a MiB
MAX_FILES = 20_000  # of one folder


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """The shape of a rule file before its words are checked."""

    id: str
    title: str
    category: str
    severity: Severity
    confidence: Confidence
    action: Action
    why: str
    effort: dict[str, Any] = {}
    targets: tuple[str, ...] = ()
    replacement: dict[str, str] | None = None
    match: dict[str, tuple[str, ...]] = {}
    detector: str = ""
    source: tuple[Source, ...] = ()
    example: tuple[Example, ...] = ()
    formerly: tuple[str, ...] = ()
    origins: tuple[str, ...] = ("own",)
    fix: RuleFix | None = None
    by_target: dict[str, str] = {}


class RuleSet(msgspec.Struct, frozen=True):
    """All rules by id, with a digest of their files (first 12 hex digits) that names this version of them."""

    rules: dict[str, Rule]
    version: str

    def of_detector(self, name: str) -> tuple[Rule, ...]:
        """The rules that a detector serves."""
        return tuple(rule for rule in self.rules.values() if rule.detector == name)

    @property
    def detectors(self) -> tuple[str, ...]:
        """Names of all detectors that some rule asks for, sorted."""
        return tuple(sorted({rule.detector for rule in self.rules.values() if rule.detector}))


def rules_folder() -> Path:
    """Where the rules that travel with porter are: inside the wheel, or at the root of a checkout.

    Raises RuleError when neither exists.
    """
    here = Path(__file__).resolve().parent
    for folder in (here / "rules_data", here.parent / "rules"):
        if folder.is_dir():
            return folder
    raise RuleError("porter's own rules are missing", "reinstall porter")


def load(extra: tuple[str, ...] = ()) -> RuleSet:
    """The rules of porter and of the user's folders; raises RuleError for the first file that is wrong."""
    rules: dict[str, Rule] = {}
    digest = hashlib.sha256()
    for folder in (rules_folder(), *map(Path, extra)):
        if not folder.is_dir():
            raise RuleError(f"{folder}: no such rules folder", "--rules takes a folder with <area>/<rule-id>.toml files")
        for path in files_of(folder):
            area = path.relative_to(folder).parts[0] if path.parent != folder else ""
            data = bytes_of(path)
            digest.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
            if area in DATA_FOLDERS:
                continue
            rule = _rule_of(path, data, area)
            if rule.id in rules:
                raise RuleError(f"{path}: the id '{rule.id}' exists already", "ids are unique and never reused")
            rules[rule.id] = rule
    _check_formerly(rules)
    return RuleSet(rules, digest.hexdigest()[:12])


def files_of(folder: Path) -> list[Path]:
    """The files of a rules folder in the order in which they count; raises RuleError where there are too many."""
    found = sorted(itertools.islice(folder.rglob("*.toml"), MAX_FILES + 1))
    if len(found) > MAX_FILES:
        raise RuleError(f"{folder}: more than {MAX_FILES:,} files", "is this a folder of rules?")
    return found


def _check_formerly(rules: dict[str, Rule]) -> None:
    for rule in rules.values():
        for old in rule.formerly:
            if old in rules:
                raise RuleError(f"{rule.id}: 'formerly' names the living rule '{old}'")


def load_file(path: Path, area: str = "") -> Rule:
    """One rule; raises RuleError with the file and what is wrong in it."""
    return _rule_of(path, bytes_of(path), area)


def bytes_of(path: Path) -> bytes:
    """The content of a rule file; a link to a file is one, but nothing waits on a pipe. Raises RuleError for what cannot be read."""
    data = read_regular(path, MAX_BYTES + 1) or read_regular(Path(links.end_of(path)), MAX_BYTES + 1)
    if data is None:
        raise RuleError(f"{path}: is no regular file, or cannot be read", "a rules folder holds <area>/<rule-id>.toml files")
    if len(data) > MAX_BYTES:
        raise RuleError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
    return data


def _rule_of(path: Path, data: bytes, area: str) -> Rule:
    return ready_rules.find(area, path.name, data) or _read(path, data, area)


def ready() -> Iterator[tuple[str, Rule]]:
    """Every rule that travels with porter, read from its TOML, with the key under which it is kept ready."""
    folder = rules_folder()
    for path in files_of(folder):
        area = path.relative_to(folder).parts[0]
        if area not in DATA_FOLDERS:
            data = bytes_of(path)
            yield ready_rules.key_of(area, path.name, data), _read(path, data, area)


def _read(path: Path, data: bytes, area: str) -> Rule:
    try:
        raw = toml_text.loads(data.decode("utf-8"))
        rule = _rule(msgspec.convert(_dates_as_text(raw), _Table), area)
    except (ValueError, RecursionError) as error:
        raise RuleError(f"{path}: {error}", "see `porter rules new` for the shape of a rule") from error
    if path.stem != rule.id:
        raise RuleError(f"{path}: the id is '{rule.id}', so the file must be named {rule.id}.toml")
    return rule


def _dates_as_text(table: dict[str, Any]) -> dict[str, Any]:
    """TOML dates of the sources (checked = 2026-12-01) as ISO text, the way the model holds them."""
    sources = table.get("source", ())
    for source in sources if isinstance(sources, list) else ():
        if isinstance(source, dict) and isinstance(source.get("checked"), datetime.date):
            source["checked"] = source["checked"].isoformat()
    return table


def _rule(table: _Table, area: str) -> Rule:
    _check_words(table)
    replacement = _replacement(table.replacement) if table.replacement else None
    effort = _effort(table.effort)
    if table.action is Action.NONE and table.effort:
        raise ValueError("action 'none' costs nothing: remove [effort]")
    if table.action is not Action.NONE and effort == Effort():
        raise ValueError("an effort is missing (only action 'none' costs nothing)")
    return Rule(
        id=table.id, title=table.title, category=table.category, severity=table.severity, confidence=table.confidence,
        action=table.action, why=" ".join(table.why.split()), effort=effort, targets=table.targets, replacement=replacement,
        match=table.match, detector=table.detector, sources=table.source, examples=table.example, formerly=table.formerly,
        origins=table.origins, area=area, fix=table.fix, by_target=table.by_target,
    )  # fmt: skip


def _check_words(table: _Table) -> None:
    allowed = model.CATEGORIES + model.INSIGHT_CATEGORIES
    checks = (
        (SLUG.match(table.id), f"id '{table.id}' is not a slug of lower-case words"),
        (table.title.strip() and len(table.title) <= 90, "title is empty or longer than 90 characters"),
        (table.category in allowed, f"category '{table.category}' is not one of {', '.join(allowed)}"),
        (table.why.strip(), "why is empty"),
        (len(table.why.split()) <= MAX_WHY_WORDS, f"why has more than {MAX_WHY_WORDS} words"),
        (bool(table.match) != bool(table.detector), "exactly one of [match] and detector is needed"),
        (set(table.match) <= set(model.FACT_KINDS), f"unknown fact kind in [match]: {sorted(set(table.match) - set(model.FACT_KINDS))}"),
        (all(table.match.values()), "a fact kind in [match] has no pattern"),
        (table.source, "a dated [[source]] is missing"),
        (all(DATE.match(s.checked) and s.says and s.url for s in table.source), "a source needs url, says and checked = \"YYYY-MM-DD\""),
        (table.fix is None or table.fix.replace, "[fix] needs replace = { words = \"what takes their place\" }"),
        (table.example, "an [[example]] with before and after is missing"),
        (all(GLOB.match(g) and t.strip() for g, t in table.by_target.items()), "by_target needs globs of targets, each with a text"),
        (set(table.origins) <= {o.value for o in model.Origin}, f"unknown origin in {table.origins}"),
        (table.action is Action.NONE or table.category not in model.INSIGHT_CATEGORIES, "an insight category needs action 'none'"),
        (table.action is not Action.NONE or table.severity is Severity.INFO, "action 'none' has severity 'info'"),
    )  # fmt: skip
    for fine, what in checks:
        if not fine:
            raise ValueError(what)


def _replacement(table: dict[str, str]) -> Replacement:
    replacement = msgspec.convert(table, Replacement)
    unknown = set(table) - {"name", "how", "status", "rocm"}
    if unknown:
        raise ValueError(f"[replacement] does not know {sorted(unknown)}")
    if replacement.status and replacement.status not in STATUSES:
        raise ValueError(f"replacement status '{replacement.status}' is not one of {', '.join(STATUSES)}")
    return replacement


def _effort(table: dict[str, Any]) -> Effort:
    unknown = set(table) - {"once", "file", "each", "learning"}
    if unknown:
        raise ValueError(f"effort does not know {sorted(unknown)}")
    learning = float(table.get("learning", 0.85))
    if not 0.5 <= learning <= 1.0:
        raise ValueError("effort.learning lies between 0.5 and 1")
    hours = {key: _hours(table[key]) for key in ("once", "file", "each") if key in table}
    return Effort(**hours, learning=learning)


def _hours(texts: list[str]) -> Hours:
    if not isinstance(texts, list) or len(texts) != 3:
        raise ValueError('hours are three durations, best, likely, worst: ["10m", "1h", "1d"]')
    values = [parse_duration(str(text)) for text in texts]
    if values != sorted(values):
        raise ValueError(f"hours {texts} do not grow from best to worst")
    return Hours(*values)


def parse_duration(text: str) -> float:
    """Hours of "10m", "2h", "1d" (8 h) or "1w" (40 h); raises ValueError for anything else."""
    match = DURATION.match(text)
    if not match:
        if text == "0":
            return 0.0
        raise ValueError(f"'{text}' is not a duration like 10m, 2h or 1d")
    return float(match[1]) * HOURS_A_UNIT[match[2]]


def applies(rule: Rule, targets: tuple[str, ...]) -> tuple[str, ...]:
    """The asked-for targets on which a rule matters; all of them for a rule without targets."""
    if not rule.targets:
        return targets
    return tuple(t for t in targets if any(fnmatch.fnmatchcase(t, glob) for glob in rule.targets))
