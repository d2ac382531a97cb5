"""Writes the tables of docs/effort.md: the back-test on a corpus, and ports of real projects beside what porter predicts for their base.

python tools/effort.py OBSERVATIONS PORTS

OBSERVATIONS is the file that `porter calibrate --observations` kept; PORTS is a folder with a checkout of each row of docs/ports.tsv at
its base commit, named after the row (spaces as _).
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import msgspec

from porter import pipeline
from porter.calibrate import backtest, fit, statistics
from porter.config import Config
from porter.estimate import features
from porter.model import Quantiles, Report

ROOT = Path(__file__).resolve().parent.parent
DOC = ROOT / "docs/effort.md"


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
    return backtest.page(result, title)


def ports_table(folder: Path) -> str:
    """A row a port: lines that it really changed, and the range of its own strategy for its base commit."""
    rows = list(csv.DictReader((ROOT / "docs/ports.tsv").read_text(encoding="utf-8").splitlines(), delimiter="\t"))
    out = [
        "| port | CUDA lines | way | real lines | predicted | inside | build, real | build, predicted | hours | findings alone | known |",
        "| --- | ---: | --- | ---: | ---: | :-: | ---: | ---: | ---: | ---: | --- |",
    ]
    real, ranges = [], []
    for row in rows:
        tree = folder / row["name"].replace(" ", "_")
        report = pipeline.audit(tree, Config(jobs=0))
        lines = sum(int(row[key]) for key in ("src_added", "src_removed", "py_added", "py_removed"))
        build = int(row["build_added"]) + int(row["build_removed"])
        value = _of_way(report, row["style"])
        real.append(float(lines))
        ranges.append(value)
        hours, built = report.estimate.hours, report.estimate.build_lines
        inside = "yes" if value.p10 <= lines <= value.p90 else "no"
        fixing = sum(line.hours.likely for line in report.estimate.lines if line.kind == "finding")
        known = f"at most {row['hours_bound']} h: {row['note']}" if row["hours_bound"] != "0" else row["note"]
        out.append(
            f"| [{row['name']}]({row['url']}) | {report.cuda_lines:,} | {row['style']} | {lines:,} | {_range(value)} "
            f"| {inside} | {build} | {_range(built)} | {_range(hours)} | {fixing:.0f} | {known} |"
        )
        print(out[-1], file=sys.stderr, flush=True)
    share, rank = statistics.coverage(ranges, real), statistics.spearman([one.p50 for one in ranges], real)
    out += ["", f"{share:.0%} of the {len(rows)} are inside P10 to P90; rank correlation of P50 and real lines {rank:.2f}.", ""]
    return "\n".join(out)


def _of_way(report: Report, style: str) -> Quantiles:
    return next((way.added_lines for way in report.strategies if way.id == style and way.fits), report.estimate.hand_lines)


def _range(value: Quantiles) -> str:
    return f"{value.p10:g} – {value.p50:g} – {value.p90:g}"


def main() -> None:
    """Both tables, written into the page."""
    observations, ports = map(Path, sys.argv[1:3])
    text = block(DOC.read_text(encoding="utf-8"), "backtest", corpus_tables(observations))
    DOC.write_text(block(text, "ports", ports_table(ports)), encoding="utf-8")


if __name__ == "__main__":
    main()
