"""Seeds of the fuzz targets: the project's fixtures, the examples of the rules, and small files of the formats that have none."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import fuzz_targets

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 20_000  # bytes of a seed
MOST = 400
KIND_OF_TARGET = {
    "hipify": "cuda", "detect-cuda": "cuda", "detect-python": "python", "detect-cmake": "cmake", "detect-docker": "docker",
    "detect-yaml": "yaml", "ptx-statements": "ptx", "locks": "python-lock",
    "conda-files": "conda", "json-files": "json", "toml-files": "toml",
}  # fmt: skip
FIRST_BYTE_NAMES = ("locks", "conda-files", "json-files", "toml-files")  # whose first byte says under which name the rest is read
WRITTEN: dict[str, tuple[bytes, ...]] = {
    "expression": (b"defined(A) && A >= 700 || !B", b"(AB << 3) + 0x10u * (A ? 1 : 2) == 5'000", b"__has_include(<hip/hip_runtime.h>)"),
    "requirement": (b"torch[a,b]==2.4.0+cu121 ; python_version < '3.9'", b"x @ git+https://h/o/n@v1#egg=x", b"--find-links https://h/x"),
    "prices": (b'currency = "EUR"\n[monthly_per_server]\nMI300X = 20000.0\n', b",gpu,price\nMI300X,20000\n"),
    "listing": (b". name=a value=3\n# c\n'..' value=1e3\n",),
    "actuals": (b'{"root":"a","rule":"b","group":"c","label":"d","hours":1.5,"predicted":{"best":1,"likely":2,'
                b'"worst":3}}\n',),
    "settings": (b'targets = ["gfx942"]\nexclude = ["a/**"]\n[per-path]\n"b/*" = ["warp-size"]\n"c" = {ignore = ["x"], '
                 b'until = 2027-01-01}\n[severities]\nx = "info"\n[effort]\nrate = 100.0\ncurrency = "EUR"\n',),
    "ignore": (b"*.o\n!a.o\n/build/**\n**/x/**/y\na[!b-c]?\\ \n\0x/a/y/b.cu", b"a*b*c*d\0aaaaabbbbccccd"),
    "messages": (b"In file included from /scratch/a.hip:3:\n./b.h:4:5: error: use of undeclared identifier 'x' [-Wa,Semantic Issue]\n"
                 b"./b.h:4:5: note: in instantiation requested here\n. /usr/include/x.h\nld.lld: error: undefined symbol: f\n",),
    "database": (b'[{"directory": ".", "file": "a.cu", "command": "nvcc -I x -DA=1 -std=c++17 a.cu"}]',),
    "words": (b"@@ -1,2 +3,4 @@\n a\n+b\n-c", b"<!-- porter:v1 key=a fix=ab run=2 -->\nx", "\x1b[31m\u202e|`<b>".encode()),
    "safetensors": (b'"a.weight":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]},"__metadata__":{"quantization":"x"}}',
                    b'"a.weight_packed":{"dtype":"U8"},"a.weight_scale_2":{"dtype":"F32"}}'),
    "archive": (b"\0a/b.so\nlibcudart.so.12\xffx.dist-info/METADATA\nRequires-Dist: cupy\n\xffk.cubin\n1",
                b"\1a.so\nx\xffb.cu\ny", b"\x23a.so\nb"),
}  # fmt: skip


def seeds(name: str) -> Iterator[bytes]:
    """Bytes to start a target's corpus with."""
    for number, data in enumerate(_plain(name)):
        yield bytes([number % 8]) + data if name in FIRST_BYTE_NAMES else data


def _plain(name: str) -> Iterator[bytes]:
    yield from WRITTEN.get(name, ())
    if name in ("model", "json-files", "json"):
        yield from (path.read_bytes() for path in sorted((ROOT / "fixtures" / "models").rglob("*.json")))
    elif name == "rule":
        yield from (path.read_bytes() for path in sorted((ROOT / "rules").rglob("*.toml"))[:60])
    elif name == "report":
        report = fuzz_targets._first_report()
        yield report
        yield json.dumps({**json.loads(report), "findings": [], "insights": []}).encode()
    elif name in ("elf", "elf-32", "pe", "fatbin", "ar", "binary", "tar", "zstandard"):
        yield from _binaries(name)
    yield from _of_kind(KIND_OF_TARGET.get(name, name))


def _of_kind(kind: str) -> Iterator[bytes]:
    """Fixtures of a file kind, then what the rules show as examples."""
    from porter.kinds import kind_of

    for path in sorted((ROOT / "fixtures").rglob("*")):
        if (
            path.is_file()
            and path.stat().st_size <= LONGEST
            and kind_of(path.relative_to(ROOT).as_posix(), data := path.read_bytes()) == kind
        ):
            yield data
    for path in sorted((ROOT / "rules").rglob("*.toml")):
        for example in _examples(tomllib.loads(path.read_text(encoding="utf-8"))):
            if kind_of(str(example["file"]), str(example["before"]).encode()) == kind:
                yield str(example["before"]).encode()


def _examples(table: dict[str, object]) -> Iterable[dict[str, object]]:
    found = table.get("example", ())
    return found if isinstance(found, list) else ()


def _binaries(name: str) -> Iterator[bytes]:
    sys.path.insert(0, str(ROOT / "tests"))
    import test_parse_archive as archives
    import test_parse_binary as binaries
    import test_parse_windows as windows

    elf, dll, fat = binaries.elf(), windows.pe(("cudart64_12.dll",), ("nvcuda.dll",)), archives.fatbin((2, 90))
    if name in ("elf", "elf-32"):
        yield elf[7:]
    elif name == "pe":
        yield dll[dll.index(b"PE\0\0") + 4 :]
    elif name == "fatbin":
        yield fat[4:]
    elif name == "tar":
        yield archives.tarred({"a.so": elf, "b" * 200: b"x"}, "w:")
    elif name == "ar":
        yield b"a.o/".ljust(16) + b"0".ljust(32) + str(len(elf)).encode().ljust(10) + b"`\n" + elf
    elif name == "zstandard":
        import zstandard

        yield zstandard.compress(archives.tarred({"a.so": elf}, "w:"))[4:]
    else:
        yield from (elf, dll, fat, binaries.safetensors({"a": {"dtype": "F8_E4M3"}}), elf + fat)


def write(name: str, folder: Path) -> int:
    """The seeds of a target as files of a folder; how many."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for count, data in enumerate(list(dict.fromkeys(seeds(name)))[:MOST], 1):
        (folder / f"seed-{count:03d}").write_bytes(data if name == "report" else data[:LONGEST])
    return count
