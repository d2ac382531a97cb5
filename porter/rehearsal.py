"""Rehearsal: what every worker would make anew at its first file of a kind is made once, before workers are forked off this process.

A parser's module, the grammars and queries, the table of CUDA names and the patterns of rules come to a tenth of a second each time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.hipify import engine
from porter.parse import parser_of

if TYPE_CHECKING:
    from porter.examine import Auditor

PIECES = {  # kind -> name and text of a file that takes the way most files of the kind take
    "cuda": (
        "rehearsal.cu",
        b"""#include <ATen/cuda/CUDAContext.h>
#include <cooperative_groups.h>
#include <cub/cub.cuh>
#include <cuda_fp16.h>
#include <thrust/sort.h>
#include <torch/all.h>
#define WARP_SIZE 32
#ifdef __CUDA_ARCH__
#define HALF (WARP_SIZE / 2)
#endif
template <typename T>
__global__ void __launch_bounds__(256) sum(T* out, const T* in, int64_t n) {
  extern __shared__ float held[];
  const int lane = threadIdx.x % WARP_SIZE;
  int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int step = WARP_SIZE / 2; step > 0; step >>= 1) held[lane] += __shfl_down_sync(0xffffffff, in[i], step);
  asm volatile("cp.async.wait_group %0;" ::"n"(0));
  atomicAdd(out, static_cast<T>(held[lane]));
}
void run(float* out, float* in, int64_t n, cudaStream_t stream) {
  int64_t blocks = (n + 255) / 256;
  cudaCtxResetPersistingL2Cache();
  thrust::sort(in, in + __float2int_rn(n));
  sum<float><<<blocks, 256, 0, stream>>>(out, in, n);
}
""",
    ),
    "python": ("rehearsal.py", b"import torch\n\nif torch.cuda.is_available():\n    x = torch.zeros(1, device='cuda')\n"),
    "requirements": ("requirements.txt", b"torch>=2.0; python_version >= '3.9'\n"),
}


def rehearse(auditor: Auditor, kinds: Iterable[str]) -> None:
    """Examine a small file of each of these kinds of file where there is one, and load the parsers of the others."""
    for kind in sorted(kinds):
        parser_of(kind)
        if kind in PIECES:
            name, text = PIECES[kind]
            with contextlib.suppress(Exception):  # whatever is wrong comes up with a file of the tree, and is told there
                auditor.rule_lines_of({name: text})
                if kind == "cuda":
                    engine.convert(text, engine.Options(rocm=auditor.config.rocm))
