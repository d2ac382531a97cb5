"""Baseline: tells new, fixed and unchanged findings apart by their content, against a saved report or a git revision."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from porter import report_file
from porter.baseline_cache import Cache, key_of
from porter.config import Config
from porter.errors import InputError
from porter.model import Baseline, Finding, Problem, Report
from porter.revision import Reader, checkout_of

Audit = Callable[[Path, Config], Report]


class Comparison(msgspec.Struct, frozen=True):
    """Findings that are only in the later report, only in the earlier one, and in both (as the later one has them)."""

    new: tuple[Finding, ...]
    fixed: tuple[Finding, ...]
    unchanged: tuple[Finding, ...]


def load(path: Path) -> Report:
    """A report that was saved as JSON and can be compared with; raises InputError for anything else."""
    saved = report_file.read(path)
    if saved.scope is not None:
        raise InputError(f"{path}: holds changed files alone (--changed-since), so nothing can be compared with it", "scan everything")
    return saved


def between(before: Report, after: Report) -> Comparison:
    """The findings of two reports compared."""
    hidden = frozenset(finding.fingerprint for finding in after.suppressed)
    return compare(before.findings, after.findings, paths_of(after), hidden)


def paths_of(report: Report) -> frozenset[str]:
    """The files that were scanned."""
    return frozenset(record.path for record in report.files)


def compare(before: Sequence[Finding], after: Sequence[Finding], paths: frozenset[str], hidden: frozenset[str] = frozenset()) -> Comparison:
    """Match by fingerprint, which holds content and no line numbers; then what is left of files that moved by rule and line text.

    ``paths`` are the files of the later report: an earlier file that is not among them may have moved. ``hidden`` are the
    fingerprints that the later report suppresses: those findings are neither fixed nor there.
    """
    old = {finding.fingerprint for finding in before}
    known = {finding.fingerprint for finding in after}
    moved: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in reversed(before):
        if finding.fingerprint not in known and finding.path not in paths:
            moved[_content(finding)].append(finding)
    earlier = {finding.path for finding in before}
    new, unchanged, found = [], [], set()
    for finding in after:
        if finding.fingerprint in old:
            unchanged.append(finding)
        elif finding.path not in earlier and moved.get(_content(finding)):
            found.add(moved[_content(finding)].pop().fingerprint)
            unchanged.append(finding)
        else:
            new.append(finding)
    gone = tuple(f for f in before if f.fingerprint not in known and f.fingerprint not in found and f.fingerprint not in hidden)
    return Comparison(tuple(new), gone, tuple(unchanged))


def _content(finding: Finding) -> tuple[str, str]:
    return finding.rule, " ".join(finding.snippet.split("\n", 1)[0].split())


def differences(before: Report, after: Report) -> tuple[str, ...]:
    """What else changed between two reports, so that a new finding need not come from a change of the code."""
    pairs = (
        ("root", before.root, after.root), ("porter", before.tool_version, after.tool_version),
        ("rules", before.rules_version, after.rules_version),
        ("targets", ", ".join(before.targets), ", ".join(after.targets)), ("ROCm", before.rocm, after.rocm),
    )  # fmt: skip
    out = [f"{name} {old or 'unknown'} before, {new or 'unknown'} now" for name, old, new in pairs if old != new]
    if not before.complete:
        out.append("the earlier audit was incomplete")
    return tuple(out)


def change(before: Report, after: Report) -> float:
    """Likely hours that came (or went, below zero) in the sum of all lines; of the medians where a report has no sum."""
    if before.findings and not before.estimate.total.likely:
        return after.estimate.hours.p50 - before.estimate.hours.p50
    return round(after.estimate.total.likely - before.estimate.total.likely, 4)


class Source:
    """Where a baseline comes from, looked up before the long scan: a saved report, or a commit of the scanned checkout."""

    def __init__(self, text: str, root: Path, git: str, cache: Cache | None = None) -> None:
        """``text`` is a file or a revision, ``git`` the path of git; raises InputError or ToolError when it cannot be had.

        ``cache`` keeps the reports of revisions, None keeps none.
        """
        self.text = text
        self.root = root
        self.cache = cache
        self.saved: Report | None = None
        self.commit = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if is_file(text):
            if not Path(text).is_file():
                raise InputError(f"{text}: no such file")
            self.saved = load(Path(text))
        else:
            checkout = checkout_of(root)
            self._folder = tempfile.TemporaryDirectory(prefix="porter-baseline-")
            try:
                self._reader = Reader(checkout, git, Path(self._folder.name))
                self.commit = self._reader.resolve(text)
            except BaseException:
                self.close()
                raise

    def report(self, config: Config, audit: Audit, now: Report) -> Report:
        """The earlier report; ``now`` is the later one, of the same porter."""
        if self.saved is not None:
            return self.saved
        place = f"{self._reader.checkout.place}\n{self._reader.checkout.is_file}\n{now.root}"
        key = key_of(self.commit, place, now, config) if self.cache else ""
        kept = self.cache.get(key) if self.cache else None
        before = kept or self._audit(config, audit)
        if self.cache and kept is None:
            self.cache.put(key, before)
        return before

    def _audit(self, config: Config, audit: Audit) -> Report:
        """The report of the revision, whose files live in a temporary folder."""
        assert self._folder is not None
        tree = Path(self._folder.name) / "tree" / (self.root.resolve().parent if self.root.is_file() else self.root.resolve()).name
        tree.mkdir(parents=True)
        self._reader.write(self.commit, tree, config.max_bytes)
        return audit(tree / self.root.name if self.root.is_file() else tree, config)

    def close(self) -> None:
        """Remove the temporary folder."""
        if self._folder is not None:
            self._folder.cleanup()


def is_file(text: str) -> bool:
    """Whether a baseline is meant as a file: it ends in .json or begins as a path does.

    What stands in the folder has no say: there a pull request could put a file that is called like the branch.
    """
    return text.endswith(".json") or text.startswith(("./", "../", "~")) or Path(text).is_absolute()


def against(report: Report, source: Source, config: Config, audit: Audit) -> Report:
    """The report with the state of every finding, what is fixed, and the debt before and after."""
    before = source.report(config, audit, report)
    return against_saved(report, before, source.text if source.commit else Path(source.text).name, source.commit)


def against_saved(report: Report, before: Report, name: str, commit: str = "") -> Report:
    """The report held against an earlier one that is called ``name``."""
    found = between(before, report)
    insights = compare(before.insights, report.insights, paths_of(report))
    notes = [Problem("baseline", "", 0, f"compared with {name}: {words}", matters=False) for words in differences(before, report)]
    return msgspec.structs.replace(
        report, findings=_with_states(report.findings, found.unchanged), insights=_with_states(report.insights, insights.unchanged),
        fixed=found.fixed, rules={**before.rules, **report.rules}, problems=tuple(sorted({*report.problems, *notes})),
        baseline=Baseline(
            name, commit or before.commit, len(found.new), len(found.fixed), len(found.unchanged), before.estimate.hours,
            report.estimate.hours, change(before, report),
        ),
    )  # fmt: skip


def _with_states(findings: Iterable[Finding], unchanged: Iterable[Finding]) -> tuple[Finding, ...]:
    old = {finding.fingerprint for finding in unchanged}
    return tuple(msgspec.structs.replace(f, state="unchanged" if f.fingerprint in old else "new") for f in findings)
