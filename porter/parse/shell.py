"""Shell scripts: the facts of their text, and what #SBATCH lines ask of a Slurm cluster."""

from __future__ import annotations

import re

from porter.model import SourceFile
from porter.parse import Parsed, jenkins
from porter.parse.sheet import Sheet
from porter.parse.shell_script import read_script

_SBATCH = re.compile(r"^#SBATCH[ \t]+(--?[\w-]+)(?:[= \t]+([^\s#]+))?", re.MULTILINE)


def parse(file: SourceFile) -> Parsed:
    """Facts of a shell script or a Jenkinsfile."""
    if file.kind == "jenkins":
        return jenkins.parse(file)
    sheet = Sheet(file, "shell")
    for match in _SBATCH.finditer(sheet.text):
        flag = f"sbatch {match[1]}"
        for name in (flag, f"{flag}={match[2]}" if match[2] else ""):
            sheet.add("command_flag", name, match.start(), match.end(), context="host")
    read_script(sheet, sheet.text, 0, len(sheet.text))
    return sheet.parsed
