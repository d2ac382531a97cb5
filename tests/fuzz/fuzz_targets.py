"""Fuzz targets that start behind a format's first checks, or where something else than a scan reads a stranger's bytes.

Each is a function of bytes. A PorterError or ValueError that the reader promises is an answer; anything else is a crash.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fuzz_formats

Target = Callable[[bytes], object]
ROOT = Path(__file__).resolve().parents[2]


def _scratch(name: str) -> Path:
    """A file that a target may write for readers that take a path; in memory where the system has such a folder."""
    shared = Path("/dev/shm")  # noqa: S108 - a folder of this run's own is made in it
    folder = tempfile.mkdtemp(prefix="porter-fuzz-", dir=shared if shared.is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / name


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _quietly(run: Target) -> Target:
    from porter.errors import PorterError

    def one(data: bytes) -> None:
        try:
            run(data)
        except PorterError:
            return  # one clear line to the user

    return one


def _of_file(name: str, read: Callable[[Path], object]) -> Target:
    path = _scratch(name)

    def one(data: bytes) -> None:
        path.write_bytes(data)
        read(path)

    return _quietly(one)


@functools.cache
def _auditor() -> Any:
    from porter import rules
    from porter.config import Config
    from porter.examine import Auditor

    return Auditor(Config(jobs=0, targets=("gfx90a", "gfx942", "gfx1100")), rules.load())


def _detect(kind: str, name: str) -> Target:
    """The whole way of one file: survey, link, parse, flow, every detector, translation, kernels."""
    from porter import link
    from porter.kinds import decode
    from porter.model import SourceFile
    from porter.parse import parser_of

    auditor = _auditor()
    parse = parser_of(kind)

    def one(data: bytes) -> None:
        source = SourceFile(name, kind, decode(data))
        assert parse is not None
        auditor.learn(link.link([link.survey(parse(source))], ("WARP=64",)), frozenset())
        for problem in auditor._look(source, data.count(b"\n") + 1).problems:
            assert " failed: " not in problem.what, problem.what

    return one


def _ptx() -> Target:
    """Statements of PTX behind a whole head, and as the text of an asm statement."""
    from porter.model import SourceFile
    from porter.parse import cuda, ptx

    head = b".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"

    def one(data: bytes) -> None:
        ptx.parse(SourceFile("a.ptx", "ptx", head + data + b"\n}\n"))
        text = _text(data).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "")
        cuda.parse(SourceFile("a.cu", "cuda", f'__global__ void k() {{ asm volatile("{text}" :: "r"(1)); }}\n'.encode()))

    return one


def _named(kind: str, names: tuple[str, ...]) -> Target:
    """One parser under the several file names that it reads differently; the first byte says which."""
    from porter.kinds import decode
    from porter.model import SourceFile
    from porter.parse import parser_of

    parse = parser_of(kind)
    assert parse is not None
    return lambda data: parse(SourceFile(names[(data[0] if data else 0) % len(names)], kind, decode(data[1:])))


def _model() -> Target:
    from porter.size import answers, config_json
    from porter.size.repository import Found

    given = answers.Given()
    return _of_file("config.json", lambda path: answers.make((Found(config_json.read(path), "here"),), given))


def _listing() -> Target:
    from porter.portfolio import listing

    return _of_file("list.txt", lambda path: listing.repositories(path))


def _prices() -> Target:
    from porter.size import hardware, prices

    gpus = hardware.load()
    toml, table = _scratch("prices.toml"), _scratch("prices.csv")

    def one(data: bytes) -> None:
        path = table if data[:1] == b"," else toml
        path.write_bytes(data[1:] if path is table else data)
        prices.read(path, gpus)

    return _quietly(one)


def _actuals() -> Target:
    from porter.calibrate import actuals

    return _of_file("actuals.jsonl", lambda path: actuals.compared(actuals.load(path)))


def _observations() -> Target:
    from porter.calibrate import observations

    return _of_file("seen.jsonl", lambda path: observations.load(path, ()))


def _settings() -> Target:
    from porter import settings

    return _of_file("porter.toml", lambda path: settings.load(path.parent))


def _rule() -> Target:
    from porter import rules

    return _of_file("a-rule.toml", lambda path: rules.load_file(path, "area"))


def _saved_report() -> Target:
    """A report that a stranger saved: everything that shows it, redacts it, compares it and comments on it."""
    from porter import baseline, report_file
    from porter.comment import choose
    from porter.comment import text as comment
    from porter.comment.values import Marker, Place
    from porter.redact import redact
    from porter.render import csv, gitlab, html, junit, markdown, sarif, terminal
    from porter.render import json as as_json

    clean = report_file.parse(_first_report())
    turn = iter(range(1 << 62))
    shown = (csv.render, gitlab.render, junit.render, sarif.render, markdown.render, terminal.render, as_json.render, html.render)

    def one(data: bytes) -> None:
        report = report_file.parse(data)
        for render in (shown[next(turn) % len(shown)], as_json.render):  # one of them a turn: a page costs as much as all others
            out = render(report)
            assert "\x1b" not in out and "\u202e" not in out
        redact(report, b"key")
        against = baseline.against_saved(report, clean, "b.json")
        comment.comment(against, choose.choose(against), Marker(), Place("https://h/o/n", "0" * 40))

    return _quietly(one)


def _first_report() -> bytes:
    sys.path.insert(0, str(ROOT / "tests"))
    from report_factory import make_report

    from porter.render import json as as_json

    return as_json.render(make_report()).encode()


def _words() -> Target:
    """Any text through what makes text harmless, in every place that shows it."""
    from porter.comment import patch
    from porter.comment.values import marker_of
    from porter.render import markdown
    from porter.render.neutral import block, one_line

    def one(data: bytes) -> None:
        text = _text(data)

        for shown in (one_line(text, 200), markdown.text(text), markdown.code(text)):
            assert "\n" not in shown and "\x1b" not in shown and "\u202e" not in shown
        block(text)
        marker_of(text)
        patch.lines(text)

    return one


def _ignore() -> Target:
    from porter import ignore

    def one(data: bytes) -> None:
        lines, _, path = _text(data).partition("\0")
        ignore.ignored(path or "a/b.cu", (("", ignore.spec_of(lines.splitlines())[0]),))

    return one


def _messages() -> Target:
    from porter.verify.messages import understand

    return lambda data: understand(_text(data), "/scratch", ("/usr/include/",), "/opt/rocm/include")


def _database() -> Target:
    from porter.verify import build

    return _of_file("compile_commands.json", lambda path: build.database(path.parent))


EXTRA: dict[str, Callable[[], Target]] = {
    **fuzz_formats.FORMATS, "ptx-statements": _ptx,
    "detect-cuda": lambda: _detect("cuda", "a.cu"), "detect-python": lambda: _detect("python", "a.py"),
    "detect-cmake": lambda: _detect("cmake", "CMakeLists.txt"), "detect-docker": lambda: _detect("docker", "Dockerfile"),
    "detect-yaml": lambda: _detect("yaml", "compose.yaml"),
    "locks": lambda: _named("python-lock", ("uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "pylock.toml")),
    "conda-files": lambda: _named("conda", ("environment.yml", "meta.yaml", "recipe.yaml", "pixi.lock", "conda-lock.yml")),
    "json-files": lambda: _named("json", ("config.json", "hf_quant_config.json", "package.json", "devcontainer.json", "CMakePresets.json",
                                          "model.safetensors.index.json", "vcpkg.json", "a.json")),
    "toml-files": lambda: _named("toml", ("Cargo.toml", "Cargo.lock", "pixi.toml", "a.toml", "config.toml")),
    "model": _model, "listing": _listing, "prices": _prices, "actuals": _actuals, "observations": _observations, "settings": _settings,
    "rule": _rule, "report": _saved_report, "words": _words, "ignore": _ignore, "messages": _messages, "database": _database,
}  # fmt: skip
