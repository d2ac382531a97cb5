"""Run while a wheel is built or the project is installed for development: makes porter/ready_rules.json, the rules as a scan uses them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ReadyRules(BuildHookInterface):  # type: ignore[misc]
    """Keeps the rules ready; without the file a scan parses them all, which takes longer and finds the same."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file before the package is gathered; ``version`` and ``build_data`` are hatchling's."""
        sys.path.insert(0, self.root)
        try:
            from porter import ready_rules, rules

            (Path(self.root) / "porter" / ready_rules.FILE.name).write_text(ready_rules.text(rules.ready()), encoding="utf-8")
        finally:
            sys.path.remove(self.root)
