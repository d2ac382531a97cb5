"""The report as an Excel workbook to plan in: sums are formulas over the lines below them, and hostile text stays text.

Bytes are the same for the same report: openpyxl writes the time into the file, so the archive is packed again without it.
"""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter

from porter.model import Report
from porter.render import summary, verdict
from porter.render.look import Look
from porter.render.neutral import encodable, one_line, shorten
from porter.render.tongue import Tongue, tongue
from porter.render.words import ACTIONS, CATEGORY_NAMES, standing

CELL_LIMIT, ROW_LIMIT = 2000, 1_000_000
HOURS, COUNT = "0.00", "#,##0"
_HEAD_FILL, _HEAD_FONT, _BOLD = PatternFill("solid", fgColor="12303A"), Font(bold=True, color="FFFFFF"), Font(bold=True)
_CLOCK = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")
_EPOCH = (1980, 1, 1, 0, 0, 0)


class Formula(str):
    """Text that Excel shall compute; everything else is written as text or a number."""

    __slots__ = ()


def render(report: Report, look: Look = Look()) -> bytes:  # noqa: B008 - frozen
    """The workbook as the bytes of an .xlsx file."""
    book = Workbook(write_only=True)
    book.calculation.fullCalcOnLoad = True  # the formulas have no values until something computes them
    sheets = _Sheets(book, report, tongue(look.lang))
    with _ended(book):
        for write in (sheets.summary, sheets.effort, sheets.findings, sheets.dependencies, sheets.kernels, sheets.files, sheets.problems):
            write()
        return _saved(book)


def sheets(lists: Iterable[tuple[str, Sequence[tuple[str, float]], Iterable[Sequence[Any]], dict[int, str]]]) -> bytes:
    """A workbook of lists, each with a name, titles and widths, rows, and number formats by column from 0."""
    book = Workbook(write_only=True)
    with _ended(book):
        for name, heads, rows, formats in lists:
            _list(book, name, heads, rows, formats)
        return _saved(book)


@contextlib.contextmanager
def _ended(book: Workbook) -> Iterator[None]:
    """End the half-written sheets when something fails (a full disk): left to be collected, they would complain on standard error."""
    try:
        yield
    except BaseException:
        for sheet in book.worksheets:
            for part in (getattr(sheet, "_rows", None), getattr(getattr(sheet, "_writer", None), "xf", None)):
                with contextlib.suppress(Exception):
                    part.close()  # type: ignore[union-attr]
        raise


def _list(
    book: Workbook, name: str, heads: Sequence[tuple[str, float]], rows: Iterable[Sequence[Any]], formats: dict[int, str], sums: int = 0
) -> None:
    """A sheet with one head row that stays in sight, a filter and widths that fit; the last ``sums`` rows stay out of the filter."""
    sheet = book.create_sheet(name)
    for i, (_, width) in enumerate(heads, 1):
        sheet.column_dimensions[get_column_letter(i)].width = width
    sheet.freeze_panes = "A2"
    sheet.append([_cell(sheet, title, font=_HEAD_FONT, fill=_HEAD_FILL) for title, _ in heads])
    last = 1
    for row in rows:
        if last > ROW_LIMIT:
            break
        sheet.append([_cell(sheet, value, formats.get(i, "")) for i, value in enumerate(row)])
        last += 1
    sheet.auto_filter.ref = f"A1:{get_column_letter(len(heads))}{max(last - sums, 1)}"


class _Sheets:
    """Writes the sheets of one report; every list sheet has a head that stays in sight, a filter and widths that fit."""

    def __init__(self, book: Workbook, report: Report, words: Tongue) -> None:
        self.book, self.report, self.words = book, report, words

    def _list(
        self, name: str, heads: Sequence[tuple[str, float]], rows: Iterable[Sequence[Any]], formats: dict[int, str], sums: int = 0
    ) -> None:
        """A sheet with one head row, named in the report's language."""
        _list(self.book, self.words.text(name), [(self.words.text(title), width) for title, width in heads], rows, formats, sums)

    def summary(self) -> None:
        """What the project is, and sums that are formulas over the other sheets."""
        report, text = self.report, self.words.text
        sheet = self.book.create_sheet(text("Summary"))
        for letter, width in (("A", 34), ("B", 16), ("C", 16), ("D", 16), ("E", 16)):
            sheet.column_dimensions[letter].width = width
        facts = [
            ("Project", one_line(report.root)), ("Commit", report.commit), ("Targets", ", ".join(report.targets)), ("ROCm", report.rocm),
            ("Made with", report.command), ("Porter", f"{report.tool_version}, {report.rules_version}"),
        ]  # fmt: skip
        rows: list[list[Any]] = [[_cell(sheet, verdict.verdict(report, self.words), font=_BOLD)], []]
        for name, value in facts:
            if value:
                rows.append([_cell(sheet, text(name), font=_BOLD), _cell(sheet, value)])
        effort = report.estimate.hours
        rows.append([])
        for name, hours in (("P10", effort.p10), ("P50", effort.p50), ("P80", effort.p80), ("P90", effort.p90)):
            rows.append([_cell(sheet, f"{text('Hours')}, {name}", font=_BOLD), _cell(sheet, hours, HOURS)])
        rows += [[], *self._sums(sheet, len(rows) + 2, "Category", "B", [self._category(row.name) for row in summary.by_category(report)])]
        rows += [[], *self._sums(sheet, len(rows) + 2, "Phase", "C", [text(row.name) for row in summary.phases(report)])]
        for row in rows:
            sheet.append(row)

    def _sums(self, sheet: Any, at: int, head: str, column: str, names: Sequence[str]) -> list[list[Any]]:
        """Hours by ``column`` of the effort sheet, head in row ``at`` (from 1): SUMIF over that sheet, findings too, and sums."""
        text, effort = self.words.text, _quoted(self.words.text("Effort"))
        heads = (head, "Best, h", "Likely, h", "Worst, h", "Findings")
        out = [[_cell(sheet, text(title), font=_HEAD_FONT, fill=_HEAD_FILL) for title in heads]]
        forms = (HOURS, HOURS, HOURS, COUNT)
        first = at + 1
        for at, name in enumerate(names, first):  # noqa: B020 - the last one ends the sums
            parts = [Formula(f"=SUMIF({effort}!${column}:${column},$A{at},{effort}!{part}:{part})") for part in "EFGH"]
            out.append([_cell(sheet, name), *(_cell(sheet, *pair) for pair in zip(parts, forms, strict=True))])
        if names:
            sums = [Formula(f"=SUM({letter}{first}:{letter}{at})") for letter in "BCDE"]
            out.append([_cell(sheet, text("Sum"), font=_BOLD), *(_cell(sheet, *pair, _BOLD) for pair in zip(sums, forms, strict=True))])
        return out

    def _category(self, name: str) -> str:
        return self.words.text(CATEGORY_NAMES.get(name, name))

    def effort(self) -> None:
        """Every line of the sum; the last row adds them up, so that a planner can strike lines out."""
        lines = sorted(self.report.estimate.lines, key=lambda line: (-line.hours.likely, line.label, line.group))
        rows: list[Sequence[Any]] = [
            (
                line.label, self._category(line.category if line.kind == "finding" else ""), self._phase(line), line.arithmetic,
                line.hours.best, line.hours.likely, line.hours.worst, line.findings or "", line.files or "", line.rule,
            )
            for line in lines
        ]  # fmt: skip
        if lines:
            end = len(lines) + 1
            sums = [Formula(f"=SUM({letter}2:{letter}{end})") for letter in "EFGH"]
            rows.append((self.words.text("Sum"), "", "", "", *sums, "", ""))
        heads = (("What", 44), ("Category", 22), ("Phase", 14), ("Arithmetic", 60), ("Best, h", 10), ("Likely, h", 10),
                 ("Worst, h", 10), ("Findings", 10), ("Files", 8), ("Rule", 30))  # fmt: skip
        self._list("Effort", heads, rows, {4: HOURS, 5: HOURS, 6: HOURS, 7: COUNT, 8: COUNT}, 1 if lines else 0)

    def _phase(self, line: Any) -> str:
        return self.words.text(summary.phase_of(line))

    def findings(self) -> None:
        """One row a finding, with the hours that its decision gives it."""
        rows = (
            (
                str(f.severity), self._category(f.category), f.rule, summary.rule_of(self.report, f).title, f.path, f.line,
                summary.remark(summary.rule_of(self.report, f), f), self.words.text(ACTIONS[str(f.action)]),
                f.replacement.name if f.replacement else "", f.effort_hours.best, f.effort_hours.likely, f.effort_hours.worst,
                str(f.confidence), " ".join(f.targets), f.state, f.group, f.snippet.split("\n", 1)[0].strip(), f.fingerprint,
            )
            for f in self.report.findings
        )  # fmt: skip
        heads = (("Severity", 10), ("Category", 22), ("Rule", 28), ("What", 40), ("File", 40), ("Line", 7), ("Remark", 40), ("Action", 18),
                 ("Replacement", 30), ("Best, h", 10), ("Likely, h", 10), ("Worst, h", 10), ("Confidence", 12), ("Targets", 18),
                 ("State", 11), ("Decision", 28), ("Code", 50), ("Fingerprint", 26))  # fmt: skip
        self._list("Findings", heads, rows, {5: "0", 9: HOURS, 10: HOURS, 11: HOURS})

    def dependencies(self) -> None:
        """Libraries and packages with what takes their place."""
        rows = []
        for group in summary.dependencies(self.report):
            new = group.rule.replacement
            rows.append((
                group.rule.title, standing(new.status) if new else "", new.name if new else "", new.how if new else "",
                new.rocm if new else "", len(group.findings), group.hours.likely, group.rule.sources[0].url if group.rule.sources else "",
                group.rule.sources[0].checked if group.rule.sources else "",
            ))  # fmt: skip
        heads = (("Dependency", 36), ("On ROCm", 24), ("Replacement", 36), ("How", 60), ("ROCm", 10), ("Places", 8), ("Likely, h", 10),
                 ("Source", 50), ("Read", 12))  # fmt: skip
        self._list("Dependencies", heads, rows, {5: COUNT, 6: HOURS})

    def kernels(self) -> None:
        """Every __global__ function with the hours of the findings in it."""
        rows = (
            (k.name, k.path, k.line, k.lines, k.launches, ", ".join(k.features), hours.best, hours.likely, hours.worst)
            for k, hours in summary.kernels(self.report)
        )
        heads = (("Kernel", 40), ("File", 44), ("Line", 8), ("Lines", 8), ("Launches", 10), ("Uses", 44), ("Best, h", 10),
                 ("Likely, h", 10), ("Worst, h", 10))  # fmt: skip
        self._list("Kernels", heads, rows, {2: "0", 3: COUNT, 4: COUNT, 6: HOURS, 7: HOURS, 8: HOURS})

    def files(self) -> None:
        """CUDA files with what the translation does to them."""
        rows = (
            (r.path, r.lines, r.hipify.converted, r.hipify.unconverted, ", ".join(sorted(r.hipify.left)), r.coverage)
            for r in self.report.files if r.hipify is not None
        )  # fmt: skip
        heads = (("File", 50), ("Lines", 10), ("Converted", 12), ("Left", 10), ("Names left", 50), ("Part read", 10))
        self._list("Translation", heads, rows, {1: COUNT, 2: COUNT, 3: COUNT, 5: "0 %"})

    def problems(self) -> None:
        """What made the audit less complete."""
        answer = {True: self.words.text("may"), False: self.words.text("no")}
        rows = ((p.stage, p.path, p.line or "", p.what, answer[p.matters]) for p in self.report.problems)
        heads = (("Stage", 12), ("File", 50), ("Line", 8), ("What", 80), ("Hides findings", 16))
        self._list("Problems", heads, rows, {2: "0"})


def _quoted(sheet: str) -> str:
    return "'" + sheet.replace("'", "''") + "'"


def _cell(sheet: Any, value: Any, form: str = "", font: Font | None = None, fill: PatternFill | None = None) -> Any:
    """A cell that is a number, a formula of ours, or text that stays text whatever it begins with."""
    if isinstance(value, Formula):
        cell = WriteOnlyCell(sheet, str(value))
        cell.data_type = "f"
    elif isinstance(value, str):
        cell = WriteOnlyCell(sheet, shorten(encodable(one_line(value)), CELL_LIMIT))
        cell.data_type = "s"
        if value[:1] in ("=", "+", "-", "@", "'"):
            cell.quotePrefix = True  # stays text when somebody edits the cell
    else:
        cell = WriteOnlyCell(sheet, round(value, 4) if isinstance(value, float) else value)
    if form:
        cell.number_format = form
    if font is not None:
        cell.font = font
    if fill is not None:
        cell.fill = fill
        cell.alignment = Alignment(vertical="top", wrap_text=True)
    return cell


def _saved(book: Workbook) -> bytes:
    """The workbook's archive, with fixed times in its names and properties."""
    written, out = io.BytesIO(), io.BytesIO()
    book.save(written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for info in source.infolist():
            content = source.read(info)
            if info.filename == "docProps/core.xml":
                content = _CLOCK.sub(rb"\g<1>2026-01-01T00:00:00Z", content)
            plain = zipfile.ZipInfo(info.filename, _EPOCH)
            plain.compress_type, plain.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            target.writestr(plain, content)
    return out.getvalue()
