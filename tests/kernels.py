"""CUDA programs that several tests scan."""

# A sum over 32 lanes, a ballot kept in 32 bits, and a leader a warp.
MASK = """
__global__ void sum(float* out, const float* in) {
  float v = in[threadIdx.x];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
  unsigned votes = __ballot_sync(0xffffffff, v > 0);
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v + __popc(votes);
}
int main() { float *a, *b; cudaMalloc(&a, 64); cudaMalloc(&b, 64); sum<<<1, 64>>>(a, b); return cudaDeviceSynchronize(); }
"""
