"""The catalogue page in a real browser: no console error, WCAG A and AA by axe-core in light and narrow dark, and a search that works."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from test_render_browser import CHROMIUM, HERE, NODE, pytestmark

from porter.model import Rule
from porter.render import catalogue
from porter.rules import load

__all__ = ["pytestmark"]


def some_rules() -> list[Rule]:
    """A rule of each category and each severity, the longest text first, and one to search for: axe reads these in seconds."""
    every = sorted(load().rules.values(), key=lambda rule: (len(rule.why), rule.id))
    chosen = {rule.category: rule for rule in every} | {rule.severity: rule for rule in every} | {"": load().rules["nvshmem"]}
    return list({rule.id: rule for rule in chosen.values()}.values())


def test_the_catalogue_is_accessible_and_its_search_finds(tmp_path: Path) -> None:
    made = some_rules()
    page = tmp_path / "rules.html"
    page.write_text(catalogue.render(made, "1"), encoding="utf-8")
    words = [NODE, str(HERE / "catalogue.mjs"), str(page), CHROMIUM, "nvshmem"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout)
    for view in seen["views"]:
        assert view["errors"] == [] and view["violations"] == [] and view["overflow"] <= 0, view
        assert view["checked"] > 12
    assert seen["all"] == seen["cleared"] == len(made)
    assert "rule-nvshmem" in seen["found"] and len(seen["found"]) < len(made) / 3
    assert seen["shown"] and seen["errors"] == []
