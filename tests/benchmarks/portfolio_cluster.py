"""A portfolio of generated repositories on a local Dask cluster: a worker is killed, a run is stopped and goes on; same bytes as here.

    python tests/benchmarks/portfolio_cluster.py --repositories 200

Prints a line for each way of running it with its seconds, and exits with 1 when a way's JSON differs from the local run's.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

KERNEL = """#include <cuda_runtime.h>
#include "reduce.cuh"
__global__ void step_{n}(const float* in, float* out, int count) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < count ? in[i] * {n}.0f : 0.0f;
  v = warp_sum(v);
  if ((threadIdx.x & 31) == 0) atomicAdd(out, v);
}}
void run_{n}(const float* in, float* out, int count) {{ step_{n}<<<(count + 255) / 256, 256>>>(in, out, count); }}
"""
SHARED = """#pragma once
__device__ inline float warp_sum(float v) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}
__device__ inline int alive(bool p) { unsigned votes = __ballot_sync(0xffffffff, p); return __popc(votes); }
"""
PACKAGES = ("tensorrt", "cupy-cuda12x", "pynvml", "nvidia-dali-cuda120", "flash-attn", "numpy", "apex", "cudf-cu12")


def generate(folder: Path, number: int) -> None:
    """Repositories after one seed: one to three kernels, a header that many share, some requirements."""
    rng = random.Random(7)
    for i in range(number):
        repository = folder / f"project-{i:03}"
        repository.mkdir(parents=True)
        for n in range(rng.randint(1, 3)):
            (repository / f"kernel_{n}.cu").write_text(KERNEL.format(n=rng.randint(1, 50)))
        (repository / "reduce.cuh").write_text(SHARED if rng.random() < 0.7 else SHARED + f"// fork {i}\n")
        (repository / "requirements.txt").write_text("\n".join(rng.sample(PACKAGES, rng.randint(1, 4))) + "\n")


def porter(source: Path, out: Path, *words: str) -> tuple[float, int]:
    """Seconds and exit status of one run that writes its JSON to ``out``."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "porter", "portfolio", str(source), "--output", str(out), "--quiet", *words]
    done = subprocess.run(command, check=False)
    return time.perf_counter() - started, done.returncode


def once_there_are(reports: Path, number: int, act: Callable[[], None]) -> threading.Thread:
    """A thread that acts when so many reports are in the folder."""

    def watch() -> None:
        while len(list(reports.glob("*.state"))) < number:
            time.sleep(0.02)
        act()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def on_a_cluster(source: Path, work: Path) -> float:
    """A run on two Dask workers, one of which is killed on the way."""
    from distributed import LocalCluster

    reports = work / "cluster-reports"
    reports.mkdir()
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        victim = next(iter(cluster.workers.values()))
        killer = once_there_are(reports, 1, lambda: os.kill(victim.pid, signal.SIGKILL))
        seconds, code = porter(source, work / "cluster.json", "--scheduler", cluster.scheduler_address, "--reports", str(reports))
        killer.join(1)
        if code or killer.is_alive():
            raise SystemExit(f"the cluster's run ended with {code}; worker killed: {not killer.is_alive()}")
    return seconds


def stopped_and_resumed(source: Path, work: Path, number: int) -> float:
    """A local run that is stopped after a third of its repositories, then run again."""
    reports = work / "resumed-reports"
    command = [
        sys.executable,
        "-m",
        "porter",
        "portfolio",
        str(source),
        "--output",
        str(work / "never.json"),
        "--quiet",
        "--reports",
        str(reports),
    ]
    first = subprocess.Popen(command, start_new_session=True)
    killer = once_there_are(reports, max(1, number // 3), first.kill)
    first.wait()
    killer.join(1)
    before = len(list(reports.glob("*.state")))
    seconds, code = porter(source, work / "resumed.json", "--reports", str(reports))
    if code or (work / "never.json").exists() or not 0 < before < number:
        raise SystemExit(f"the resumed run ended with {code}, {before} of {number} reports were there")
    return seconds


def main() -> int:
    """The exit status: 0 when every way gives the same bytes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repositories", type=int, default=200)
    number = parser.parse_args().repositories
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        source = work / "portfolio"
        generate(source, number)
        seconds = {"local": porter(source, work / "local.json")[0]}
        seconds["cluster, a worker killed"] = on_a_cluster(source, work)
        seconds["resumed after a third"] = stopped_and_resumed(source, work, number)
        whole = (work / "local.json").read_bytes()
        same = {way: (work / f"{way.split(',')[0].split()[0]}.json").read_bytes() == whole for way in seconds}
    for way, taken in seconds.items():
        print(f"{way:28} {taken:7.1f} s  {'same bytes' if same[way] else 'DIFFERENT'}")
    return 0 if all(same.values()) and len(whole) > 100 else 1


if __name__ == "__main__":
    raise SystemExit(main())
