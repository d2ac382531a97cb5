"""Suppression: marks in the comments of every kind of file, what they cover, and what is said of marks that do nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from porter import findings, pipeline, suppress
from porter.config import Config, PathRule
from porter.discover import Entry
from porter.examine import Auditor
from porter.ignore_marks import read
from porter.kinds import kind_of
from porter.model import Severity, SourceFile
from porter.parse import parser_of
from porter.render import html, markdown, sarif
from porter.render import json as json_report
from porter.rules import RuleSet
from porter.suppress import Outcome

Scan = Callable[..., Outcome]
CELL = '{"cells": [{"cell_type": "code", "source": [\n'
CELL += '   "!pip install nvidia-nvshmem-cu12  # porter: ignore[nv*] lab\\n",\n   "x = 1"\n  ]}],\n'
NOTEBOOK = CELL + ' "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5}\n'


@pytest.fixture(scope="module")
def scan(ruleset: RuleSet, tmp_path_factory: pytest.TempPathFactory) -> Scan:
    """Examines files that know nothing of each other and applies the marks in them."""
    auditor = Auditor(Config(), ruleset)

    def run(files: dict[str, str], **settings: Any) -> Outcome:
        auditor.root = tmp_path_factory.mktemp("tree")
        examined = []
        for name, text in files.items():
            path = auditor.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            examined.append(auditor.examine(Entry(name, kind_of(name, text.encode()) or "", len(text))))
        config = Config(**settings)
        everything, _ = findings.assemble(examined, ruleset, config)
        return suppress.apply(everything, examined, ruleset, config)

    return run


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cu", "#include <nvshmem.h>  // porter: ignore[nvshmem] single node only\n"),
        ("a.cu", "#include <nvshmem.h>  /* porter: ignore[nvshmem] single node only */\n"),
        ("a.cu", "/* porter: ignore[nvshmem] single node only */ #include <nvshmem.h>\n"),
        ("a.cu", "// porter: ignore[nvshmem] single node only\n#include <nvshmem.h>\n"),
        ("a.cu", "/* porter: ignore[nvshmem] a reason\n   of two lines */\n#include <nvshmem.h>\n"),
        ("a.cu", "// NOLINT // porter: ignore[nvshmem] a\n// more words\n#include <nvshmem.h>\n"),
        ("a.cu", "// porter: ignore-file[nvs*] not for AMD\n\n\n#include <nvshmem.h>\n#include <nvshmemx.h>\n"),
        ("a.cu", "// porter: ignore-start[nvshmem] old\n\n#include <nvshmem.h>\n\n#include <nvshmemx.h>\n// porter: ignore-end\n"),
        ("a.cpp", "// porter: ignore[nvs*, nvshmem] both\n#include <nvshmem.h> // porter: ignore[nvs*] twice\n"),
        ("a.py", "import nvshmem.core  # porter: ignore[*] lab\n"),
        ("a.py", "# porter: ignore[nvshmem] lab\nimport nvshmem.core\n"),
        ("a.py", "import nvshmem.core  # noqa: F401  # porter: ignore[nvshmem] lab\n"),
        ("a.ipynb", NOTEBOOK),
        ("requirements.txt", "nvidia-nvshmem-cu12  # porter: ignore[nv*] extra\n"),
        ("pyproject.toml", '[project]\ndependencies = [\n  # porter: ignore[nv*] "extra"\n  "nvidia-nvshmem-cu12",\n]\n'),
        ("setup.cfg", "[options]\ninstall_requires =\n    ; porter: ignore[nv*] extra\n    nvidia-nvshmem-cu12\n"),
        ("CMakeLists.txt", "find_package(NVSHMEM)  # porter: ignore[*] optional\n"),
        ("Dockerfile", "# porter: ignore[*] the CI of the NVIDIA build\nFROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"),
        ("ci.yaml", "jobs:\n  a:\n    container: nvidia/cuda:12.4.1-devel  # porter: ignore[*] it's CI\n"),
        ("run.sh", "echo don't # a quote\nnvidia-smi # porter: ignore[*] shows the machine\n"),
        ("Makefile", "# porter: ignore[*] rest\nNVCC = nvcc\nall:\n\tnvcc a.cu # porter: ignore[*] rest\n"),
    ],
)
def test_every_comment_style_suppresses(scan: Scan, name: str, text: str) -> None:
    without = scan({name: text.replace("porter: ignore", "parter: ignore")})
    assert without.findings and not without.suppressed
    marked = scan({name: text})
    assert marked.findings == () and marked.problems == ()
    assert [f.fingerprint for f in marked.suppressed if "porter" not in f.snippet] == [
        f.fingerprint for f in without.findings if "parter" not in f.snippet
    ]
    assert len(marked.suppressed) == len(without.findings)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cu", 'const char *s = "// porter: ignore-file[nvshmem] no";\n#include <nvshmem.h>\n'),
        ("a.cu", 'const char *s = R"(\n// porter: ignore[nvshmem] no\n)";\n#include <nvshmem.h>\n'),
        ("a.cu", "// porter: ignore[nvshmem] too far\n\n#include <nvshmem.h>\n"),
        ("a.cu", "int x;  // porter: ignore[nvshmem] behind other code\n#include <nvshmem.h>\n"),
        ("a.cu", "// porter: ignore[cutlass] another rule\n#include <nvshmem.h>\n"),
        ("a.cu", "// porter: ignore[NVSHMEM] ids have case\n#include <nvshmem.h>\n"),
        ("a.cu", "// porter: ignore without a rule\n#include <nvshmem.h>\n"),
        ("a.cu", "// write porter: ignore[nvshmem] to silence it\n#include <nvshmem.h>\n"),
        ("a.cu", "// porter: ignore-start[nvshmem] never ends\n#include <nvshmem.h>\n"),
        ("a.cu", "\n" * 20 + "// porter: ignore-file[nvshmem] too late\n\n\n#include <nvshmem.h>\n"),
        ("a.cu", "// porter: ignore-start[nvshmem] a\n// porter: ignore-end\n#include <nvshmem.h>\n"),
        ("a.cu", "// porter: ignore[nvshmem] x until=soon\n#include <nvshmem.h>\n"),
        ("a.py", '"""\n# porter: ignore-file[nvshmem] no\n"""\nimport nvshmem.core\n'),
        ("a.py", 'import nvshmem.core; s = "# porter: ignore[nvshmem] no"\n'),
        ("requirements.txt", "# porter: ignored[nvshmem] x\nnvidia-nvshmem-cu12\n"),
        ("ci.yaml", 'a: "# porter: ignore[*] no"\nimage: nvidia/cuda:12.4.1-devel\n'),
    ],
)
def test_what_is_no_mark_suppresses_nothing(scan: Scan, name: str, text: str) -> None:
    outcome = scan({name: text})
    assert outcome.findings and outcome.suppressed == ()
    assert not any(problem.matters for problem in outcome.problems)


def words(outcome: Outcome) -> list[tuple[int, str]]:
    return [(problem.line, problem.what) for problem in outcome.problems]


def test_a_mark_in_cuda_inside_a_python_string_covers_that_code(scan: Scan) -> None:
    source = 'from cupy import RawKernel\nk = RawKernel(r"""\n'
    source += '#include <nvshmem.h>  // porter: ignore[nvshmem] demo\n__global__ void k() {}\n""", "k")\n'
    outcome = scan({"a.py": source})
    assert [(f.rule, f.line) for f in outcome.suppressed] == [("nvshmem", 3)]


def test_marks_that_do_nothing_are_named(scan: Scan) -> None:
    text = (
        "// porter: ignore[cutlass] was here\nint a;\n#include <nvshmem.h>  // porter: ignore[nvshmem, no-such-rule] ok\n"
        "// porter: ignore\n// porter: ignore-end\n// porter: ignore-start[nvshmem] x\n"
    )
    found = words(scan({"a.cu": text}))
    assert [line for line, _ in sorted(found)] == [1, 3, 4, 5, 6]
    said = dict(found)
    assert "'cutlass' is not found here" in said[1] and "there is no rule 'no-such-rule'" in said[3]
    assert "names no rule" in said[4] and "nothing starts" in said[5] and "nothing ends" in said[6]


def test_a_mark_over_code_that_is_ported_already_is_not_called_unused(scan: Scan) -> None:
    text = "#ifndef USE_ROCM\n#include <nvshmem.h>  // porter: ignore[nvshmem] guarded\n#endif\n__global__ void k() {}\n"
    outcome = scan({"a.cu": text})
    assert outcome.suppressed == () and outcome.problems == ()


def test_reasons_can_be_required(scan: Scan) -> None:
    files = {"a.cu": "#include <nvshmem.h>  // porter: ignore[nvshmem]\n#include <nvshmemx.h>  // porter: ignore[nvshmem]: measured\n"}
    assert len(scan(files).suppressed) == 2
    strict = scan(files, require_reason=True)
    assert [f.line for f in strict.findings] == [1] and [f.line for f in strict.suppressed] == [2]
    assert "gives no reason" in words(strict)[0][1]
    assert strict.why[strict.suppressed[0].fingerprint].reason == "measured"


def test_a_mark_ends_after_its_last_day(scan: Scan) -> None:
    files = {"a.cu": "#include <nvshmem.h>  // porter: ignore[nvshmem] next release until=2027-01-31\n"}
    for today in ("", "2026-12-01", "2027-01-31"):
        outcome = scan(files, today=today)
        assert outcome.findings == () and outcome.problems == ()
        assert outcome.why[outcome.suppressed[0].fingerprint].reason == "next release"
    late = scan(files, today="2027-02-01")
    assert len(late.findings) == 1 and "ended on 2027-01-31" in words(late)[0][1]


@pytest.mark.parametrize(
    "text",
    [
        "// porter: ignore-file[nvshmem] next release until=2027-01-31\n#include <nvshmem.h>\n",
        "// porter: ignore-start[nvshmem] next release until=2027-01-31\n#include <nvshmem.h>\n// porter: ignore-end\n",
    ],
)
def test_blocks_and_files_end_after_their_last_day_and_need_a_reason_too(scan: Scan, text: str) -> None:
    assert len(scan({"a.cu": text}, today="2027-01-31", require_reason=True).suppressed) == 1
    assert "ended on 2027-01-31" in words(scan({"a.cu": text}, today="2027-02-01"))[0][1]
    bare = scan({"a.cu": text.replace(" next release until=2027-01-31", "")}, require_reason=True)
    assert len(bare.findings) == 1 and "gives no reason" in words(bare)[0][1]


def test_suppressions_of_the_settings_need_reasons_end_and_are_named_when_unused(scan: Scan) -> None:
    files = {"tests/a.cu": "#include <nvshmem.h>\n"}
    bare, ended = PathRule("tests/", ("nvs*",)), PathRule("tests/", ("nvs*",), reason="old", until="2026-11-30")
    assert len(scan(files, per_path=(bare,)).suppressed) == 1
    for rule, settings, said in (
        (bare, {"require_reason": True}, "gives no reason"),
        (ended, {"today": "2026-12-01"}, "ended on 2026-11-30"),
        (PathRule("src/", ("nvs*",)), {}, "settings for src/ suppress nothing: 'nvs*'"),
    ):
        outcome = scan(files, per_path=(rule,), **settings)
        assert len(outcome.findings) == 1 and said in words(outcome)[0][1] and not outcome.problems[0].matters
    assert len(scan(files, per_path=(ended,), today="2026-11-30").suppressed) == 1
    both = scan(files, per_path=(ended, bare), today="2026-12-01")  # of two rules for one folder one has ended: the other holds
    assert len(both.suppressed) == 1 and ["ended on" in said for _, said in words(both)] == [True]


def test_settings_that_are_needed_elsewhere_are_not_called_unused(scan: Scan) -> None:
    marked = {"tests/a.cu": "#include <nvshmem.h>  // porter: ignore[nvshmem] lab\n"}
    guarded = {"tests/a.cu": "#ifndef USE_ROCM\n#include <nvshmem.h>\n#endif\n__global__ void k() {}\n"}
    wave = {"tests/a.cu": "__global__ void k(int* n) { unsigned m = __ballot_sync(~0u, 1); *n = __popc(m); }\n"}
    cases = ((marked, "nvs*", ("gfx942",)), (guarded, "nvs*", ("gfx942",)), (wave, "ballot-in-32-bits", ("gfx1100",)))
    for files, rules, targets in cases:
        outcome = scan(files, per_path=(PathRule("tests/", (rules,)),), targets=targets)
        assert outcome.problems == () and rules not in {f.rule for f in outcome.findings}, files
    elsewhere = (PathRule("src/", ("nvs*",)),)
    assert scan(marked, per_path=elsewhere).problems and not scan(marked, per_path=elsewhere, changed_since="main").problems


def test_settings_suppress_and_grade_by_path(scan: Scan) -> None:
    files = {"tests/a.cu": "#include <nvshmem.h>\n", "src/a.cu": "#include <nvshmem.h>\n", "src/old/a.cu": "#include <nvshmem.h>\n"}
    rules = (PathRule("tests/", ("nvs*",), reason="not shipped"), PathRule("src/old/**", severity=Severity.INFO))
    outcome = scan(files, per_path=rules, severities=(("nvshmem", Severity.BLOCKER), ("cut*", Severity.INFO)))
    assert {f.path: f.severity for f in outcome.findings} == {"src/a.cu": Severity.BLOCKER, "src/old/a.cu": Severity.INFO}
    (hidden,) = outcome.suppressed
    assert outcome.why[hidden.fingerprint].kind == "external" and outcome.why[hidden.fingerprint].reason == "not shipped"


def test_a_report_counts_what_is_suppressed_and_keeps_it_out_of_the_hours(
    tmp_path: Path, ruleset: RuleSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline.rules, "load", lambda *_: ruleset)
    (tmp_path / "a.cu").write_text("#include <nvshmem.h>  // porter: ignore[nvshmem] one node\n#include <cutlass/cutlass.h>\n")
    report = pipeline.audit(tmp_path, Config(jobs=0))
    data = json.loads(json_report.render(report))
    assert {f["rule"] for f in data["findings"]} == {"cutlass"} == {line["rule"] for line in data["effort"] if line["kind"] == "finding"}
    assert data["suppressed"] == 1 and data["summary"]["complete"]
    assert [(s["rule"], s["line"], s["reason"]) for s in data["suppressions"]] == [("nvshmem", 1, "one node")]
    page = html.render(report)
    assert "one node" in page[page.index('id="suppressed"') :] and "1 finding suppressed" in markdown.render(report)
    results = sarif.as_dict(report)["runs"][0]["results"]
    assert [(r["ruleId"], r.get("suppressions")) for r in results] == [
        ("cutlass", None), ("nvshmem", [{"kind": "inSource", "status": "accepted", "justification": "one node"}]),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["cuda", "python", "yaml", "notebook"])
def test_hostile_comments_are_read_in_linear_time(kind: str) -> None:
    name = {"cuda": "a.cu", "python": "a.py", "yaml": "a.yaml", "notebook": "a.ipynb"}[kind]
    lead = "//" if kind == "cuda" else "#"
    text = f"{lead} porter: ignore[{'a,' * 5_000}\n" + f"{lead} {'porter: ignore[' * 3_000}\n" + f"{lead} porter: ignore[x] y\n" * 20_000
    parse = parser_of(kind)
    assert parse is not None
    marks = read(parse(SourceFile(name, kind, text.encode())))
    assert len(marks) <= 1_000


def test_marks_without_number_give_few_notes(scan: Scan) -> None:
    problems = scan({"a.cu": "int x;  // porter: ignore[no-such-rule]\n" * 3000}).problems
    assert len(problems) == suppress.MAX_NOTES + 1 and "950 more marks" in problems[-1].what
