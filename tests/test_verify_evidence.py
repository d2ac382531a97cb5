"""Evidence of compilers in a report: the ladder, the grade and every format; none is claimed for what nobody compiled."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from porter import pipeline, redact
from porter.cli import main
from porter.config import Config
from porter.errors import ConfigError
from porter.estimate.grade import NO_HOURS
from porter.model import Problem, Report
from porter.render import html, json, markdown
from porter.render.html_view import _ladder
from porter.verify import evidence
from porter.verify.values import CompilerError, FileResult, Verification

HPC = Path(__file__).parent.parent / "fixtures/repos/hpc-cmake"
PATHS = ("src/config.h", "src/main.cu", "src/reduce.cu", "src/stencil.cu")


def verification(rungs: tuple[str, ...], missing: tuple[str, ...] = (), errors: tuple[CompilerError, ...] = ()) -> Verification:
    compilers = {"gfx942": "clang 19, HIP 7.1 headers", "gfx950": "none; libclang with porter's own stub headers"}
    files = tuple(
        FileResult(path, "parses", {"gfx942": rung, "gfx950": "parses"}, path.endswith(".cu"), missing if path in missing else ())
        for path, rung in zip(PATHS, rungs, strict=True)
    )
    return Verification("r", ("gfx942", "gfx950"), "7.1", compilers, files, errors)


@pytest.fixture(scope="module")
def plain() -> Report:
    return pipeline.audit(HPC, Config(jobs=0))


def test_compilers_raise_the_ladder_and_change_what_the_grade_says(plain: Report) -> None:
    """The ladder ended at the translation, whatever a compiler had shown."""
    assert [rung.known for rung in _ladder(plain)] == [True] * 3 + [False] * 5
    done = evidence.confirmed(plain, verification(("compiles", "links", "links", "compiles")))
    ladder = {rung.name: (rung.known, rung.files) for rung in _ladder(done)}
    assert ladder["Compiles"] == (True, 4) and ladder["Links"] == (True, 2) and not ladder["Runs"][0]
    assert "no compiler has confirmed" in plain.estimate.grade_reasons[0] and done.estimate.grade_reasons == (NO_HOURS,)
    assert "| **CUDA files that compile for AMD** | 4 of 4 |" in markdown.render(done) and '"evidence"' in json.render(done)
    assert "CUDA files that compile" not in markdown.render(plain) and "--verify" in html.render(plain)
    hidden = redact.redact(done)
    assert hidden.evidence is not None and not set(hidden.evidence.rungs) & set(PATHS)


def test_what_does_not_compile_and_what_could_not_be_compiled_are_told_apart(plain: Report) -> None:
    error = CompilerError("src/main.cu", 1, 1, "syntax", "no")
    done = evidence.confirmed(plain, verification(("compiles", "parses", "converted", "compiles"), ("src/main.cu",), (error,)))
    text = "; ".join(done.estimate.grade_reasons)
    assert "1 of 4 CUDA files do not compile yet" in text and "1 of 4 CUDA files include headers that this machine lacks" in text
    assert "1 of 1 compiler errors were predicted by no finding" in text and done.estimate.grade > plain.estimate.grade
    assert done.evidence is not None and list(done.evidence.compilers) == ["gfx942"]  # nobody asked about gfx950
    assert "Compilers were asked about gfx942.</p>" in html.render(done) and "Compilers were asked" not in html.render(plain)
    assert "| **Compilers asked** | gfx942: clang 19, HIP 7.1 headers |" in markdown.render(done)


def test_without_a_compiler_nothing_is_claimed(plain: Report) -> None:
    nobody = verification(("parses",) * 4)
    nobody.compilers["gfx942"] = "none; libclang with porter's own stub headers"
    with pytest.raises(ConfigError, match="no compiler for gfx942, gfx950"):
        evidence.confirmed(plain, nobody)


def test_a_machine_without_a_compiler_is_refused_before_the_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal came after the scan, of minutes in a large tree."""
    monkeypatch.setattr("porter.verify.compilers.find_all", lambda *_: [])
    monkeypatch.setattr("porter.pipeline.audit", lambda *_, **__: pytest.fail("scanned first"))
    done = CliRunner().invoke(main, ["scan", str(HPC), "--verify", "--no-cache"])
    assert done.exit_code == 2 and "--verify: no compiler for gfx942, gfx950 on this machine" in done.output


def test_a_file_that_no_compiler_was_given_is_counted(plain: Report) -> None:
    """It was left out of both sides: of the files that compile, and of those that there are."""
    some = verification(("compiles", "links", "links", "links"))
    large = Problem("verify", "src/stencil.cu", 0, "larger than 8 MiB; not given to a compiler")
    done = evidence.confirmed(plain, msgspec.structs.replace(some, files=some.files[:3], problems=(large,)))
    assert "| **CUDA files that compile for AMD** | 3 of 4 |" in markdown.render(done)
    assert done.estimate.grade_reasons[1] == "1 of 4 CUDA files were not given to a compiler (porter verify says why)"
