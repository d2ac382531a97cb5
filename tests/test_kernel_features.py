"""What each kernel uses: its own lines, its helpers, helpers of included files; code that AMD does not read says nothing."""

from __future__ import annotations

from porter import kernel_features
from porter.link import link, survey
from porter.model import SourceFile
from porter.parse import cuda

HEADER = b"""
template <typename T> __device__ T sum(T v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}
"""
KERNELS = b"""
#include "reduce.cuh"
#include <mma.h>
using namespace nvcuda;
__device__ void add(float* p, float v) { atomicAdd(p, v); }
__device__ void publish(float* p, float v) { add(p, v); }
__global__ void reduce(float* out, const float* in) {
  extern __shared__ float tile[];
  LOOP(i, 32) { tile[i] = in[i]; }
  float v = sum(in[threadIdx.x]);
  if (threadIdx.x == 0) publish(out, v);
}
__global__ void multiply(const half* a, cudaTextureObject_t image) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> f;
  wmma::load_matrix_sync(f, a, 16);
#ifndef USE_ROCM
  asm volatile("cp.async.commit_group;");
#endif
}
__global__ void copy(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x]; }  // atomicAdd in words only
void launch() { copy<<<1, 64>>>(nullptr, nullptr); }
"""


def test_features_come_from_lines_and_helpers_in_a_fixed_order() -> None:
    parsed = {n: cuda.parse(SourceFile(n, "cuda", d)) for n, d in (("k.cu", KERNELS), ("reduce.cuh", HEADER))}
    index = link([survey(one) for one in parsed.values()])
    found = kernel_features.described(parsed["k.cu"], index, [])
    assert {kernel.name: kernel.features for kernel in found} == {
        "reduce": ("warp shuffles", "atomics", "dynamic shared memory"),
        "multiply": ("tensor cores", "textures"),
        "copy": (),
    }
    assert {kernel.name: kernel.launches for kernel in found} == {"reduce": 0, "multiply": 0, "copy": 1}
