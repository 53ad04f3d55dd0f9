// Device primitives of emitted CUDA text. On a host (QK_HOST) the same names come from the emulator, which runs the
// text on a CPU: tests/emulator/qk_cuda_host.h.
#ifndef QK_CUDA_CUH
#define QK_CUDA_CUH

#include "qk_args.h"

#if defined(QK_HOST)
#include "qk_cuda_host.h"
#else

#define QK_INLINE static __device__ __forceinline__
#include "qk_types.h"

#define QK_DEVICE static __device__ __forceinline__
#define QK_KERNEL(threads, min_blocks) extern "C" __global__ void __launch_bounds__(threads, min_blocks)
#define QK_ARGS const __grid_constant__ qk_args
#define QK_SHARED_MEMORY(name) extern __shared__ __align__(16) char name[]

QK_INLINE qk_u32 qk_thread() { return threadIdx.x; }
QK_INLINE qk_u32 qk_first_tile() { return blockIdx.x; }
QK_INLINE qk_u32 qk_tile_step() { return gridDim.x; }

QK_INLINE qk_f32 qk_as_f32(qk_u32 v) { return __uint_as_float(v); }
QK_INLINE qk_u32 qk_as_u32(qk_f32 v) { return __float_as_uint(v); }
QK_INLINE qk_f32 qk_fma(qk_f32 a, qk_f32 b, qk_f32 c) { return __fmaf_rn(a, b, c); }
QK_INLINE qk_f32 qk_div(qk_f32 a, qk_f32 b) { return __fdiv_rn(a, b); }
QK_INLINE qk_f32 qk_sqrt(qk_f32 v) { return __fsqrt_rn(v); }
QK_INLINE qk_f32 qk_round(qk_f32 v) { return roundf(v); }
QK_INLINE qk_i32 qk_f32_to_i32(qk_f32 v) { return __float2int_rz(v); }    // saturates, NaN is 0
QK_INLINE qk_u32 qk_f32_to_u32(qk_f32 v) { return __float2uint_rz(v); }
QK_INLINE qk_f32 qk_f16_to_f32(qk_u16 v) { qk_f32 r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v)); return r; }
QK_INLINE qk_u16 qk_f32_to_f16(qk_f32 v) { qk_u16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v)); return r; }
QK_INLINE qk_f32 qk_bf16_to_f32(qk_u16 v) { return qk_as_f32((qk_u32)v << 16); }
QK_INLINE qk_u16 qk_f32_to_bf16(qk_f32 v) { return qk_bf16_of_bits(qk_as_u32(v)); }

QK_INLINE qk_i32 qk_dp4a_us(qk_u32 a, qk_u32 b, qk_i32 c) { qk_i32 r; asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
QK_INLINE qk_i32 qk_dp4a_ss(qk_u32 a, qk_u32 b, qk_i32 c) { qk_i32 r; asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
QK_INLINE qk_u32 qk_byte_perm(qk_u32 a, qk_u32 b, qk_u32 s) { return __byte_perm(a, b, s & 0x7777u); }

// Memory. Pointers are to bytes, aligned to the type.
template <typename T>
QK_INLINE T qk_load(const char* p) { return *reinterpret_cast<const T*>(p); }
template <typename T>
QK_INLINE void qk_store(char* p, T v) { *reinterpret_cast<T*>(p) = v; }
template <typename T>
QK_INLINE T qk_load_shared(const char* p) { return *reinterpret_cast<const T*>(p); }
template <typename T>
QK_INLINE void qk_store_shared(char* p, T v) { *reinterpret_cast<T*>(p) = v; }
// Of a buffer that nobody writes: the non-coherent path.
template <typename T>
QK_INLINE T qk_load_const(const char* p) { return __ldg(reinterpret_cast<const T*>(p)); }
template <>
__device__ __forceinline__ qk_u32x4 qk_load_const<qk_u32x4>(const char* p) { const uint4 v = __ldg(reinterpret_cast<const uint4*>(p)); return {v.x, v.y, v.z, v.w}; }
template <>
__device__ __forceinline__ qk_u32x2 qk_load_const<qk_u32x2>(const char* p) { const uint2 v = __ldg(reinterpret_cast<const uint2*>(p)); return {v.x, v.y}; }
template <>
__device__ __forceinline__ qk_i32x4 qk_load_const<qk_i32x4>(const char* p) { const int4 v = __ldg(reinterpret_cast<const int4*>(p)); return {v.x, v.y, v.z, v.w}; }
template <>
__device__ __forceinline__ qk_i32x2 qk_load_const<qk_i32x2>(const char* p) { const int2 v = __ldg(reinterpret_cast<const int2*>(p)); return {v.x, v.y}; }
template <>
__device__ __forceinline__ qk_f32x4 qk_load_const<qk_f32x4>(const char* p) { const float4 v = __ldg(reinterpret_cast<const float4*>(p)); return {v.x, v.y, v.z, v.w}; }
template <>
__device__ __forceinline__ qk_f32x2 qk_load_const<qk_f32x2>(const char* p) { const float2 v = __ldg(reinterpret_cast<const float2*>(p)); return {v.x, v.y}; }
// Read once: does not displace other lines of L1.
template <typename T>
QK_INLINE T qk_load_stream(const char* p) {
  T v;
  if (sizeof(T) == 16) {
    qk_u32x4 r;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(p));
    __builtin_memcpy(&v, &r, sizeof(T));
  } else if (sizeof(T) == 8) {
    qk_u32x2 r;
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(r.x), "=r"(r.y) : "l"(p));
    __builtin_memcpy(&v, &r, sizeof(T));
  } else {
    v = qk_load_const<T>(p);
  }
  return v;
}

QK_INLINE void qk_async_copy(char* shared, const char* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((qk_u32)__cvta_generic_to_shared(shared)), "l"(global) : "memory");
}
// Zeros where `allowed` is false.
QK_INLINE void qk_async_copy_if(char* shared, const char* global, bool allowed) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((qk_u32)__cvta_generic_to_shared(shared)), "l"(global), "r"(allowed ? 16 : 0) : "memory");
}
QK_INLINE void qk_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
QK_INLINE void qk_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory"); }

QK_INLINE void qk_barrier() { __syncthreads(); }
QK_INLINE void qk_warp_sync() { __syncwarp(); }
template <typename T>
QK_INLINE T qk_shuffle_xor(T v, qk_u32 mask) { return __shfl_xor_sync(0xFFFFFFFFu, v, mask); }
template <typename T>
QK_INLINE T qk_shuffle_index(T v, qk_u32 lane) { return __shfl_sync(0xFFFFFFFFu, v, lane); }

QK_INLINE qk_i32x4 qk_mma_u8s8_k32(qk_u32x4 a, qk_u32x2 b, qk_i32x4 c) {
  qk_i32x4 d;
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(c.x), "r"(c.y), "r"(c.z), "r"(c.w));
  return d;
}
QK_INLINE qk_i32x4 qk_mma_s8s8_k32(qk_u32x4 a, qk_u32x2 b, qk_i32x4 c) {
  qk_i32x4 d;
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(c.x), "r"(c.y), "r"(c.z), "r"(c.w));
  return d;
}
QK_INLINE qk_i32x4 qk_mma_u8s8_k16(qk_u32x2 a, qk_u32 b, qk_i32x4 c) {
  qk_i32x4 d;
  asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
      : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)
      : "r"(a.x), "r"(a.y), "r"(b), "r"(c.x), "r"(c.y), "r"(c.z), "r"(c.w));
  return d;
}
QK_INLINE qk_i32x4 qk_mma_s8s8_k16(qk_u32x2 a, qk_u32 b, qk_i32x4 c) {
  qk_i32x4 d;
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
      : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)
      : "r"(a.x), "r"(a.y), "r"(b), "r"(c.x), "r"(c.y), "r"(c.z), "r"(c.w));
  return d;
}
QK_INLINE qk_f32x4 qk_mma_f16_k16(qk_u32x4 a, qk_u32x2 b, qk_f32x4 c) {
  qk_f32x4 d;
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d.x), "=f"(d.y), "=f"(d.z), "=f"(d.w)
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "f"(c.x), "f"(c.y), "f"(c.z), "f"(c.w));
  return d;
}
QK_INLINE qk_f32x4 qk_mma_bf16_k16(qk_u32x4 a, qk_u32x2 b, qk_f32x4 c) {
  qk_f32x4 d;
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d.x), "=f"(d.y), "=f"(d.z), "=f"(d.w)
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "f"(c.x), "f"(c.y), "f"(c.z), "f"(c.w));
  return d;
}

#endif
#endif
