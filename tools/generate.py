"""Writes what is generated from the project itself (rules/README.md, rules/schema.json, README's help text, reports/), or checks it.

python tools/generate.py [--check]
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from porter import catalog, pipeline, rules
from porter.cli import main as porter_command
from porter.config import Config
from porter.hipify import api
from porter.render import html, json, markdown
from porter.testing import blank_copy

ROOT = Path(__file__).resolve().parent.parent
SHOWN = (
    "half-ported",
    "hpc-cmake",
    "pure-torch",
    "tensorrt-llm-server",
    "torch-training",
    "vllm-service",
)  # repositories whose reports are kept
HELP_BLOCK = re.compile(r"(<!-- help:scan -->\n```text\n).*?(```\n<!-- /help -->)", re.DOTALL)


def generated() -> Iterator[tuple[Path, str]]:
    """Every generated file with the text it must have."""
    ruleset = rules.load()
    yield ROOT / "rules/README.md", catalog.markdown(ruleset)
    yield ROOT / "rules/schema.json", catalog.schema_of_rules()
    yield ROOT / "README.md", HELP_BLOCK.sub(lambda m: m[1] + scan_help() + m[2], (ROOT / "README.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for name in SHOWN:
            blank_copy(ROOT / "fixtures/repos" / name, Path(folder) / name)
            config = Config(jobs=0, rocm=list(api.rocm_versions())[-1])
            report = pipeline.audit(Path(folder) / name, config, command=f"porter scan {name}")
            for ending, renderer in (("html", html), ("json", json), ("md", markdown)):
                yield ROOT / "reports" / name / f"report.{ending}", renderer.render(report)


def scan_help() -> str:
    """What `porter scan --help` prints, 100 columns wide."""
    command = porter_command.get_command(click.Context(porter_command), "scan")
    assert command is not None
    context = click.Context(command, info_name="porter scan", terminal_width=100, max_content_width=100)
    return command.get_help(context) + "\n"


def main() -> int:
    """Write the files, or with --check name those that are stale and return 1."""
    check = "--check" in sys.argv[1:]
    stale = []
    for path, text in generated():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path}: {'stale; run make generate' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
