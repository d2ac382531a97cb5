"""Writes the tables of docs/effort.md: the back-test on a corpus, and ports of real projects beside what porter predicts for their base.

python tools/effort.py OBSERVATIONS [PORTS]

OBSERVATIONS is the file that `porter calibrate --observations` kept; PORTS is a folder with a checkout of each row of docs/ports.tsv at
its base commit, named after the row (spaces as _). Without PORTS only the back-test is written, in seconds.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from porter import pipeline, rules
from porter.advise import strategies
from porter.calibrate import backtest, fit, statistics
from porter.config import Config
from porter.estimate import features, hand_lines, simulate
from porter.model import EffortLine, Hours, Quantiles, Report

ROOT = Path(__file__).resolve().parent.parent
DOC = ROOT / "docs/effort.md"
NOT_IN_COMMITS = ("Plan and environment", "CI with an AMD GPU runner", "Review and merge", "Performance:")  # labels of project lines
CI_RULES = ("ci-cuda-matrix", "ci-nvidia-runner")
OTHER_WORK = "other work"  # in the column why: the port's commits changed more than the port
LINES_HEAD = """| port | CUDA lines | way | real | predicted | inside | real / P50 | what the port did | build, real | predicted |
| --- | ---: | --- | ---: | ---: | :-: | ---: | --- | ---: | ---: |"""
HOURS_HEAD = """| port | known hours | how it is known | the port itself | holds it | whole report | likely, of findings | minutes a line |
| --- | ---: | --- | ---: | :-: | ---: | ---: | ---: |"""


def block(text: str, name: str, body: str) -> str:
    """The page with what stands between the marks of ``name`` replaced."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"{DOC}: has no block '{name}'")
    return pattern.sub(lambda match: f"{match[1]}{body}{match[2]}", text)


def corpus_tables(path: Path) -> str:
    """The cross-validated back-test."""
    seen = [msgspec.json.decode(line, type=fit.Observation) for line in path.read_bytes().splitlines() if line.strip()]
    seen.sort(key=lambda one: one.name)
    result = backtest.averaged([backtest.measured(seen, fit.cross_validated(seen, features.model(), seed)) for seed in fit.SEEDS])
    known = features.model().backtest
    title = f"Model {known['version']} on {known['corpus']}: {known['method']}"
    by_domain = backtest.measured(seen, fit.by_domain(seen, features.model())) if len({one.domain for one in seen}) > 1 else None
    return backtest.page(result, title, by_domain)


def audited(folder: Path) -> Iterator[tuple[dict[str, str], Report]]:
    """The rows of docs/ports.tsv with the report of each base."""
    ruleset = rules.load()
    for row in csv.DictReader((ROOT / "docs/ports.tsv").read_text(encoding="utf-8").splitlines(), delimiter="\t"):
        print(row["name"], file=sys.stderr, flush=True)
        yield row, pipeline.audit(folder / row["name"].replace(" ", "_"), Config(jobs=0), ruleset=ruleset)


def lines_table(ports: list[tuple[dict[str, str], Report]]) -> str:
    """A row a port: lines that it really changed, and the range of its own way for its base commit."""
    out, real, ranges = [LINES_HEAD], [], []
    for row, report in ports:
        lines, value = _real(row, "src", "py"), _of_way(_what_was_ported(report, row["left_out"].split()), row["style"])
        real.append(float(lines))
        ranges.append(value)
        inside = "yes" if value.p10 <= lines <= value.p90 else "no"
        built = report.estimate.build_lines
        out.append(
            f"| [{row['name']}]({row['url']}) | {report.cuda_lines:,} | {row['style']} | {lines:,} | {_range(value)} "
            f"| {inside} | {lines / max(value.p50, 1.0):.1f} | {row['why']} | {_real(row, 'build')} | {_range(built)} |"
        )
    share, rank = statistics.coverage(ranges, real), statistics.spearman([one.p50 for one in ranges], real)
    out += ["", f"{share:.0%} of the {len(ports)} are inside P10 to P90; rank correlation of P50 and real lines {rank:.2f}."]
    of = [i for i, (row, _) in enumerate(ports) if not row["why"].startswith(OTHER_WORK)]
    rank = statistics.spearman([ranges[i].p50 for i in of], [real[i] for i in of])
    out += [f"Of the {len(of)} whose lines hold no other work, {rank:.2f}.", ""]
    return "\n".join(out)


def hours_table(ports: list[tuple[dict[str, str], Report]]) -> str:
    """A row a port: what is known of its hours, beside the estimate of the port itself, and of all that the report counts."""
    out, held, judged, over = [HOURS_HEAD], 0, 0, []
    for row, report in ports:
        low, high = float(row["hours_low"]), float(row["hours_high"])
        itself = _itself(report.estimate.lines, row["left_out"].split())
        holds = _holds(itself, low, high)
        judged += bool(holds)
        held += holds == "yes"
        if high:
            over.append(itself.p50 / high)
        lines = _of_way(report, row["style"]).p50 + report.estimate.build_lines.p50
        fixing = sum(line.hours.likely for line in report.estimate.lines if line.kind == "finding")
        out.append(
            f"| {row['name']} | {_known(low, high)} | {row['note']} | {_range(itself)} | {holds} | {_range(report.estimate.hours)} "
            f"| {fixing:.0f} | {60 * report.estimate.hours.p50 / max(lines, 1.0):.0f} |"
        )
    above, middle = sum(1 for ratio in over if ratio > 1), statistics.quantile(over, 0.5)
    out.append("")
    out.append(f"P10 to P90 of the port itself meets what is known in {held} of {judged} ports.")
    out.append(
        f"P50 is above the upper bound in {above} of the {len(over)} that have one; in the middle it is {middle:.2f} of the bound.\n"
    )
    return "\n".join(out)


def _itself(lines: tuple[EffortLine, ...], left_out: list[str]) -> Quantiles:
    """The hours of what a port's commits hold: without plan, CI, review and profile, and without what it left out."""
    parts: dict[str, Hours] = {}
    for line in lines:
        skipped = line.label.startswith(NOT_IN_COMMITS) or line.rule in (*CI_RULES, *left_out) or line.category in left_out
        if not skipped:
            parts[f"{line.rule} {line.group} {line.label}"] = line.hours
    return simulate.quantiles(parts, 0)


def _what_was_ported(report: Report, left_out: list[str]) -> Report:
    """The report of source lines alone, without findings of rules and categories that the port did not touch; all is counted again."""
    kept = tuple(one for one in report.findings if one.rule not in left_out and one.category not in left_out)
    lines = hand_lines.hand_lines(kept, report.files, report.already_ported)[0] if left_out else report.estimate.hand_lines
    estimate = msgspec.structs.replace(report.estimate, hand_lines=lines, build_lines=Quantiles(0.0, 0.0, 0.0, 0.0))
    less = msgspec.structs.replace(report, findings=kept, estimate=estimate)
    return msgspec.structs.replace(less, strategies=strategies.strategies(less))


def _holds(value: Quantiles, low: float, high: float) -> str:
    if not (low or high):
        return ""
    return "yes" if value.p90 >= low and (not high or value.p10 <= high) else "no"


def _known(low: float, high: float) -> str:
    if low and high:
        return f"{low:g} to {high:g}"
    return f"{low:g} or more" if low else f"at most {high:g}" if high else "unknown"


def _real(row: dict[str, str], *kinds: str) -> int:
    return sum(int(row[f"{kind}_{way}"]) for kind in kinds for way in ("added", "removed"))


def _of_way(report: Report, style: str) -> Quantiles:
    return next((way.added_lines for way in report.strategies if way.id == style and way.fits), report.estimate.hand_lines)


def _range(value: Quantiles) -> str:
    return f"{value.p10:g} – {value.p50:g} – {value.p90:g}"


def main() -> None:
    """The tables, written into the page."""
    text = block(DOC.read_text(encoding="utf-8"), "backtest", corpus_tables(Path(sys.argv[1])))
    if len(sys.argv) > 2:
        ports = list(audited(Path(sys.argv[2])))
        text = block(block(text, "ports", lines_table(ports)), "hours", hours_table(ports))
    DOC.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
