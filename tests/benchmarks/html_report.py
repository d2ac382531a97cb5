"""How fast a large HTML report is: time to render, size, first paint, and how long a filter and a text search take in Chromium.

python tests/benchmarks/html_report.py [FINDINGS ...]    default: 1000 19999 50000; needs node, chromium and npm ci in tests/browser

Limits that the project holds itself to at 50,000 findings: 15 MB, first paint within a second, no filter longer than 200 ms.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from report_factory import large_report  # noqa: E402

from porter.render import html  # noqa: E402


def measure(count: int, folder: Path) -> dict[str, float]:
    """Seconds to render, megabytes, and milliseconds in the browser for a report of so many findings."""
    report = large_report(count)
    begin = time.perf_counter()
    text = html.render(report)
    seconds = time.perf_counter() - begin
    page = folder / "report.html"
    page.write_text(text, encoding="utf-8")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
    words = ["node", str(HERE.parent / "browser/check.mjs"), str(page), chromium, "quick"]
    seen = json.loads(subprocess.run(words, capture_output=True, text=True, check=True, timeout=300).stdout)["behaviour"]
    return {
        "findings": count, "render s": round(seconds, 2), "MB": round(len(text.encode()) / 1e6, 2), "first paint ms": seen["firstPaint"],
        "first filter ms": seen["filterTime"], "filter ms": seen["againTime"], "search ms": seen["searchTime"],
        "longest task ms": seen["longest"],
    }  # fmt: skip


def main() -> None:
    """One line a size."""
    with tempfile.TemporaryDirectory() as folder:
        for count in [int(word) for word in sys.argv[1:]] or [1000, 19_999, 50_000]:
            print("  ".join(f"{name} {value}" for name, value in measure(count, Path(folder)).items()), flush=True)


if __name__ == "__main__":
    main()
