"""Makes docs/comment.png: the comment on the pull request in fixtures/pulls, as a code host would show it. Needs chromium.

python tools/comment_picture.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

from porter import pipeline
from porter.baseline import against_saved
from porter.comment import choose, text
from porter.comment.values import Marker, Place
from porter.config import Config
from porter.model import Report

ROOT = Path(__file__).resolve().parent.parent
PULL = ROOT / "fixtures/pulls/hipblas-alias"
WIDTH, HEIGHT = 1000, 880
DOTS = {"🔴": "#cf222e", "🟠": "#e16f24", "🟡": "#d4a72c", "🟢": "#1a7f37"}  # drawn, since few machines have a font with them
PAGE = """<!doctype html><meta charset="utf-8"><style>
body { font: 14px/1.5 "DejaVu Sans", Arial, sans-serif; color: #1f2328; background: #fff; margin: 16px; }
.box { border: 1px solid #d1d9e0; border-radius: 6px; }
.head { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e; border-radius: 6px 6px 0 0; }
.head b { color: #1f2328; } .head i { border: 1px solid #d1d9e0; border-radius: 2em; padding: 0 6px; font: 12px/1.4 sans-serif; }
.text { padding: 12px 16px; } p { margin: 0 0 12px; } a { color: #0969da; text-decoration: none; }
table { border-collapse: collapse; margin: 0 0 12px; } td, th { border: 1px solid #d1d9e0; padding: 5px 10px; vertical-align: top; }
tr:nth-child(2n) td { background: #f6f8fa; } td:first-child, td:nth-child(4) { white-space: nowrap; }
code { font: 12px "DejaVu Sans Mono", monospace; background: #eff1f3; border-radius: 6px; padding: 2px 5px; }
summary { margin: 0 0 8px; } sub { font-size: 11px; color: #59636e; vertical-align: baseline; }
</style><div class="box"><div class="head"><b>porter</b> <i>bot</i> commented</div><div class="text">"""


def report() -> Report:
    """The report of the pull request's head, held against its base."""
    config = Config(jobs=0)
    before = pipeline.audit(PULL / "base", config)
    return against_saved(pipeline.audit(PULL / "head", config), before, "main")


def main() -> int:
    """Write the picture; 1 without chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("chromium is not on this machine", file=sys.stderr)
        return 1
    found = report()
    place = Place("https://github.com/example/quantmm", "0" * 40)
    body = text.comment(found, choose.choose(found), Marker(), place, "https://example.com/report")
    page = PAGE + MarkdownIt("commonmark", {"html": True}).enable("table").render(body)
    for sign, colour in DOTS.items():
        page = page.replace(sign, f'<span style="color: {colour}">●</span>')
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "comment.html"
        file.write_text(page, encoding="utf-8")
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1.5")
        where = (f"--user-data-dir={folder}", f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={ROOT / 'docs/comment.png'}", file.as_uri())
        subprocess.run([chromium, *options, *where], check=True, capture_output=True, timeout=60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
