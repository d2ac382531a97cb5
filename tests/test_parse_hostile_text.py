"""Text parsers on bad input: no exception, no blow-up, and a problem where something was lost."""

from __future__ import annotations

import random
import time

import pytest

from porter.model import Live, SourceFile
from porter.parse import parser_of, toml_text
from porter.parse.requirement_line import marker_live, name_in_url, read_requirement

KINDS = (
    "requirements", "pyproject", "setup-cfg", "pipfile", "python-lock", "conda", "cmake", "make", "bazel", "meson", "docker", "yaml",
    "json", "toml", "shell", "jenkins", "pbtxt", "hcl", "binary", "rust",
)  # fmt: skip
PATHS = {"json": "config.json", "toml": "Cargo.toml", "python-lock": "uv.lock"}
N = 60_000
HOSTILE = {
    "empty": b"",
    "nul": b"\0" * 1000,
    "no utf-8": bytes(range(256)) * 20,
    "open brackets": b"[" * N,
    "open braces": b"{" * N,
    "open parentheses": b"if(" + b"(" * N,
    "open substitutions": b"$(" * N,
    "open variables": b"${" * N,
    "back quotes": b"`" * N,
    "quotes": b"\"'" * N,
    "backslashes": b"\\" * N,
    "continuations": b"a \\\n" * N,
    "one long line": b"x" * (10 * N),
    "long words": b"a=b " * N,
    "templates": b"{{ " * N,
    "dashes": b"- " * 2000,
    "aliases": b"a: &a [x]\n" + b"".join(b"k%d: [*a, *a, *a]\n" % i for i in range(2000)),
    "heredocs": b"cat <<A\n" * 3000,
    "carriage returns": b"a = 1\r\nRUN x\r\n" * 500,
    "nested if": b"if [ x ]; then\n" * 3000 + b"if(A)\n" * 3000,
    "slashes": b"/*" * N,
    "commas": b"a," * N,
    "strings in open brackets": b"[" * N + b'"a" ' * N,
}


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_text_costs_neither_an_exception_nor_much_time(kind: str) -> None:
    parse = parser_of(kind)
    assert parse is not None
    for name, data in HOSTILE.items():
        started = time.perf_counter()
        parse(SourceFile(PATHS.get(kind, "x"), kind, data))
        assert time.perf_counter() - started < 5.0, name


@pytest.mark.parametrize("kind", KINDS)
def test_random_cuts_of_real_text_are_read(kind: str) -> None:
    parse = parser_of(kind)
    assert parse is not None
    chance = random.Random(7)
    text = b'FROM a:1\nRUN pip install \'torch==2\' "x" $(b `c` ${d}) <<E\nif(A) set(B "${C}") endif()\n'
    text += b'[a]\nb = ["c", {d = \'e\'}]\nk: {v: [1, "2"]}\n'
    for _ in range(150):
        start = chance.randrange(len(text))
        cut = text[start : start + chance.randrange(len(text))] + text[: chance.randrange(len(text))]
        parse(SourceFile(PATHS.get(kind, "x"), kind, cut))


def test_broken_files_say_so() -> None:
    for kind, path, data in (
        ("pyproject", "pyproject.toml", b"[project\nx"),
        ("python-lock", "uv.lock", b"= ="),
        ("python-lock", "Pipfile.lock", b"{"),
        ("yaml", "a.yaml", b"a: [1\nb: }"),
        ("cmake", "CMakeLists.txt", b"project(x CUDA)\nset(a (b"),
        ("json", "config.json", b'{"quant_method": \x01"}'),
        ("requirements", "requirements.txt", b"a ==== b\n"),
    ):
        parse = parser_of(kind)
        assert parse is not None
        assert parse(SourceFile(path, kind, data)).problems, kind


def test_a_deep_yaml_is_a_problem_and_an_alias_is_not_expanded() -> None:
    parse = parser_of("yaml")
    assert parse is not None
    assert parse(SourceFile("a.yaml", "yaml", b"[" * 500 + b"]" * 500)).problems
    bomb = b"a: &a {image: 'nvidia/cuda:12'}\n" + b"".join(b"b%d: *a\n" % i for i in range(50))
    images = [fact for fact in parse(SourceFile("b.yaml", "yaml", bomb)).facts if fact.kind == "image"]
    assert len(images) == 1


def test_markers_are_asked_for_linux_on_x86_64() -> None:
    assert marker_live("sys_platform == 'win32'") is Live.NO
    assert marker_live("platform_machine == 's390x'") is Live.NO
    assert marker_live("python_version < '3.12'") is Live.YES
    assert marker_live("extra == 'gpu' and platform_system == 'Linux'") is Live.YES
    assert marker_live("nonsense ==") is Live.UNKNOWN


def test_urls_name_what_they_install() -> None:
    assert name_in_url("https://x.org/whl/torch-2.4.0%2Bcu121-cp311-cp311-linux_x86_64.whl") == "torch"
    assert name_in_url("git+https://github.com/Dao-AILab/flash-attention.git@v2.6") == "flash-attention"
    assert name_in_url("git+https://github.com/Dao-AILab/flash-attention@main#subdirectory=hopper") == "flash-attn-3"
    assert name_in_url("git+ssh://git@github.com/vllm-project/vllm.git@releases/v0.9") == "vllm"
    assert name_in_url("git+git@github.com:a/b.git@v1") == "b"
    assert name_in_url("git+https://host/@scope/repo") == name_in_url("git+https://host/@scope/repo.git@v1/rc") == "repo"
    assert name_in_url("https://x.org/index.html") == ""
    assert read_requirement("./wheels/x.whl") is None
    with pytest.raises(ValueError, match="."):
        read_requirement("two words")


@pytest.mark.parametrize("head", ["", 'a."\'".', "x = { a = '''\n''', ", 'x = {a = """a"""", ', 'x = {a = """a\\"""", "q".', "[a", "# '\n"])
def test_a_key_of_many_parts_is_refused_wherever_it_hides(head: str) -> None:
    with pytest.raises(ValueError, match="a key of more than 60 parts"):
        toml_text.loads(head + " b." * 61 + "'x' = 1")


def test_dots_that_are_no_keys_are_read() -> None:
    text = "x = [" + "1.5, " * 100 + '"' + "a." * 100 + '"]\ny = """\n' + "a.b, " * 100 + '"""\n# ' + "a." * 100
    assert len(toml_text.loads(text)["x"]) == 101


@pytest.mark.parametrize("unit", ['"""\\', "'''", '"\\', "a'", '"" '])
def test_quotes_cost_time_in_proportion(unit: str) -> None:
    started = time.process_time()
    with pytest.raises(ValueError, match="line 1"):
        toml_text.loads(unit * 60_001 + ".a" * 100)
    assert time.process_time() - started < 1.0
