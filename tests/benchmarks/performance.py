"""Porter beside hipify-perl, ripgrep and semgrep over the same files, one after the other in one run: the table of docs/performance.md.

    python tests/benchmarks/performance.py FOLDER... [--rounds N] [--hipify-perl PATH] [--semgrep PATH] [--generated LINES] [--growth]

CPU seconds of a program and all it starts (user and system), from the kernel's accounting of children. Machines differ and
are shared, so the ratios of one run count, not the seconds; of several rounds the least of each program is told.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import porter

KERNEL = """
__global__ void kernel_{n}(const float* __restrict__ in, float* out, int count) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = i < count ? in[i] * {n}.0f : 0.0f;
  for (int offset = 16; offset > 0; offset >>= 1) {{
    sum += __shfl_down_sync(0xffffffff, sum, offset);
  }}
  if (threadIdx.x % 32 == 0) atomicAdd(out + {n} % 64, sum);
}}

void launch_{n}(const float* in, float* out, int count, cudaStream_t stream) {{
  float* held = nullptr;
  cudaMallocAsync(&held, count * sizeof(float), stream);
  cudaMemcpyAsync(held, in, count * sizeof(float), cudaMemcpyHostToDevice, stream);
  kernel_{n}<<<(count + 255) / 256, 256, 0, stream>>>(held, out, count);
  cudaFreeAsync(held, stream);
}}
"""
SCAN = [sys.executable, "-m", "porter", "scan", "-q"]
PATTERN = "rules:\n- id: launch\n  languages: [cpp]\n  severity: INFO\n  message: m\n  pattern: cudaMemcpyAsync(...)\n"


def spent(words: list[str], folder: Path | None = None) -> tuple[float, float]:
    """CPU and wall seconds of a command; its status is of no interest, its absence is an error."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env={**environment, "NO_COLOR": "1"}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - started


class Peak:
    """The largest proportional set size, in MiB, that all descendants of this process had together, looked at four times a second."""

    def __init__(self) -> None:
        self.mib = 0.0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Peak:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()

    def _run(self) -> None:
        while not self._over.wait(0.25):
            self.mib = max(self.mib, sum(_pss(pid) for pid in _descendants(os.getpid())) / 1024)


def _descendants(root: int) -> set[int]:
    """Process numbers of all children of a process, and theirs."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # gone meanwhile
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found: set[int] = set()
    todo = [root]
    while todo:
        parent = todo.pop()
        below = {pid for pid, above in parents.items() if above == parent} - found
        found |= below
        todo += below
    return found


def _pss(pid: int) -> int:
    """Proportional set size in KiB; 0 for a process that is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


def generate(folder: Path, lines: int) -> Path:
    """A tree of made-up CUDA files of about so many lines, 1,000 a file; few in a folder, lest they be taken for made by a machine."""
    each, number = KERNEL.count("\n"), 0
    for file in range(max(1, lines // 1000)):
        path = folder / f"m{file // 20}" / f"f{file}.cu"
        path.parent.mkdir(parents=True, exist_ok=True)
        count = max(1, 1000 // each)
        path.write_text("#include <cuda_runtime.h>\n" + "".join(KERNEL.format(n=number + n) for n in range(count)))
        number += count
    return folder


def cuda_only(folder: Path, target: Path) -> list[str]:
    """Copy the CUDA files of a folder; their paths."""
    out = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".cu", ".cuh") and path.is_file() and not path.is_symlink():
            copy = target / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
            out.append(str(copy))
    return out


def rows(folder: Path, args: argparse.Namespace, work: Path) -> list[tuple[str, float, float]]:
    """(what, CPU seconds, wall seconds) for one folder."""
    scan = [*SCAN, "--output", str(work / "r.json")]
    cached = [*scan, "--cache-dir", str(work / "cache")]
    out = [("porter cold", *spent([*cached, str(folder)])), ("porter warm", *spent([*cached, str(folder)]))]
    files = cuda_only(folder, work / "cuda")
    if files:
        out.append(("porter cold, CUDA files alone", *spent([*scan, "--no-cache", str(work / "cuda")])))
        if args.hipify_perl:
            out.append(("hipify-perl, all files in one process", *spent(["perl", args.hipify_perl, "-quiet-warnings", *files])))
            each = [spent(["perl", args.hipify_perl, "-quiet-warnings", file]) for file in files[:2000]]
            scale = len(files) / len(each)
            out.append(("hipify-perl, a process a file", sum(cpu for cpu, _ in each) * scale, sum(wall for _, wall in each) * scale))
    out += _changed(folder, work, cached)
    if shutil.which("rg"):
        out.append(("rg cuda", *spent(["rg", "--no-ignore", "-c", "cuda", str(folder)])))
    if args.semgrep and files:
        out.append(("semgrep, one C++ pattern, CUDA files alone", *_semgrep(args.semgrep, files, work)))
    return out


def _semgrep(program: str, files: list[str], work: Path) -> tuple[float, float]:
    """semgrep over the same CUDA files; named as C++, since it does not know their endings."""
    (work / "p.yaml").write_text(PATTERN)
    (work / "cpp").mkdir()
    for number, file in enumerate(files):
        shutil.copy(file, work / "cpp" / f"{number}.cpp")
    quiet = ["--metrics=off", "--disable-version-check", "--no-git-ignore", "-q"]
    return spent([program, "scan", *quiet, "--config", str(work / "p.yaml"), str(work / "cpp")])


def _changed(folder: Path, work: Path, cached: list[str]) -> list[tuple[str, float, float]]:
    """A checkout of the folder with one file changed."""
    copy = work / "checkout" / folder.name
    shutil.copytree(folder, copy, symlinks=True)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false", "-c", "gc.auto=0"]
    for words in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "a"]):
        spent([*git, *words], copy)
    path = next((p for p in sorted(copy.rglob("*")) if p.suffix in (".cu", ".py")), None)
    if path is not None:
        path.write_text(path.read_text(errors="replace") + "\n")
    return [
        ("porter --changed-since, one file, warm", *spent([*cached, "--changed-since", "HEAD", str(copy)])),
        ("porter --changed-since, one file, no cache", *spent([*cached, "--no-cache", "--changed-since", "HEAD", str(copy)])),
    ]


def table(folder: Path, args: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """For each program the least CPU seconds of all rounds, with the wall seconds of that time."""
    least: dict[str, tuple[float, float]] = {}
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory() as work:
            for what, cpu, wall in rows(folder, args, Path(work)):
                least[what] = min(least.get(what, (cpu, wall)), (cpu, wall))
    return least


def main() -> None:
    """Print one table a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--hipify-perl", default="")
    parser.add_argument("--semgrep", default="")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--generated", type=int, default=0)
    parser.add_argument("--growth", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        scan = [*SCAN, "--no-cache", "--output", f"{made}/r.json"]
        spent([sys.executable, "-m", "compileall", "-q", *porter.__path__])  # byte code is there after an installation too
        folders = [path.resolve() for path in args.folders]
        if args.generated:
            folders.append(generate(Path(made) / f"generated-{args.generated}", args.generated))
        for folder in folders:
            print(f"\n{folder.name}\n\n| what | CPU s | wall s |\n| --- | ---: | ---: |", flush=True)
            for what, (cpu, wall) in table(folder, args).items():
                print(f"| {what} | {cpu:.2f} | {wall:.2f} |", flush=True)
        if args.growth:
            print("\n| CUDA lines | CPU s | a thousand lines, ms | peak of all processes, MiB |\n| ---: | ---: | ---: | ---: |")
            for lines in (10_000, 100_000, 1_000_000):
                folder = generate(Path(made) / f"growth-{lines}", lines)
                with Peak() as peak:
                    cpu, _ = spent([*scan, str(folder)])
                print(f"| {lines:,} | {cpu:.1f} | {cpu / lines * 1e6:.1f} | {peak.mib:.0f} |", flush=True)


if __name__ == "__main__":
    main()
