/* The words and built-ins of CUDA C++, enough for libclang to resolve a file without a toolkit. */
#pragma once
#define __global__ __attribute__((annotate("global")))
#define __device__ __attribute__((annotate("device")))
#define __host__ __attribute__((annotate("host")))
#define __shared__ __attribute__((annotate("shared")))
#define __constant__ __attribute__((annotate("constant")))
#define __managed__ __attribute__((annotate("managed")))
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...) __attribute__((annotate("launch_bounds")))
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

typedef unsigned long size_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
extern const int warpSize;
