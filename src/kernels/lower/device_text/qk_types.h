// Types and pure operations of emitted C++ and CUDA text, with the meaning that kernels/ir/kernel.h gives them. No
// standard header, so that NVRTC can compile it as it is. QK_INLINE is set by the including header.
#ifndef QK_TYPES_H
#define QK_TYPES_H

typedef unsigned char qk_u8;
typedef signed char qk_i8;
typedef unsigned short qk_u16;  // also the bits of f16 and bf16
typedef int qk_i32;
typedef unsigned int qk_u32;
typedef unsigned long long qk_u64;
typedef float qk_f32;

struct alignas(8) qk_u32x2 {
  qk_u32 x, y;
};
struct alignas(16) qk_u32x4 {
  qk_u32 x, y, z, w;
};
struct alignas(8) qk_i32x2 {
  qk_i32 x, y;
};
struct alignas(16) qk_i32x4 {
  qk_i32 x, y, z, w;
};
struct alignas(8) qk_f32x2 {
  qk_f32 x, y;
};
struct alignas(16) qk_f32x4 {
  qk_f32 x, y, z, w;
};

QK_INLINE qk_i32 qk_add(qk_i32 a, qk_i32 b) { return (qk_i32)((qk_u32)a + (qk_u32)b); }
QK_INLINE qk_i32 qk_sub(qk_i32 a, qk_i32 b) { return (qk_i32)((qk_u32)a - (qk_u32)b); }
QK_INLINE qk_i32 qk_mul(qk_i32 a, qk_i32 b) { return (qk_i32)((qk_u32)a * (qk_u32)b); }
QK_INLINE qk_i32 qk_shl(qk_i32 a, qk_u32 b) { return (qk_i32)((qk_u32)a << b); }
template <typename T>
QK_INLINE T qk_min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
QK_INLINE T qk_max(T a, T b) {
  return a < b ? b : a;
}
QK_INLINE qk_u32 qk_mul_high(qk_u32 a, qk_u32 b) { return (qk_u32)(((qk_u64)a * b) >> 32); }

// f32 -> bf16: nearest even; NaN is 0x7FFF.
QK_INLINE qk_u16 qk_bf16_of_bits(qk_u32 bits) {
  return (bits & 0x7FFFFFFFu) > 0x7F800000u ? (qk_u16)0x7FFF : (qk_u16)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

#endif
