// The host side of qk_cuda.cuh: the same names, played by tests/emulator. Included by emitted text compiled with
// QK_HOST.
#ifndef QK_CUDA_HOST_H
#define QK_CUDA_HOST_H

#include <cmath>
#include <cstdint>
#include <cstring>

#define QK_INLINE static inline
#include "qk_types.h"

#define QK_DEVICE static
#define QK_KERNEL(threads, min_blocks) extern "C" __attribute__((visibility("default"))) void
#define QK_ARGS qk_args
#define QK_SHARED_MEMORY(name) char* const name = qk_emulated_shared()

// What the scheduler offers (emulator.cc). Operations are numbered so that lanes that meet in different ones are
// noticed.
enum qk_operation { QK_OP_SYNC, QK_OP_SHUFFLE, QK_OP_MMA };
qk_u32 qk_emulated_thread();
qk_u32 qk_emulated_block();
qk_u32 qk_emulated_grid();
char* qk_emulated_shared();
void qk_emulated_barrier();
// Leaves `words` words with the warp and returns those of all lanes, [32][16], once all 32 have come.
const qk_u32* qk_emulated_meet(qk_operation operation, const qk_u32* words, qk_u32 count);
void qk_emulated_copy(char* shared, const char* global, bool allowed);
void qk_emulated_commit();
void qk_emulated_wait(qk_u32 pending);

QK_INLINE qk_u32 qk_thread() { return qk_emulated_thread(); }
QK_INLINE qk_u32 qk_first_tile() { return qk_emulated_block(); }
QK_INLINE qk_u32 qk_tile_step() { return qk_emulated_grid(); }

QK_INLINE qk_f32 qk_as_f32(qk_u32 v) {
  qk_f32 f;
  std::memcpy(&f, &v, 4);
  return f;
}
QK_INLINE qk_u32 qk_as_u32(qk_f32 v) {
  qk_u32 u;
  std::memcpy(&u, &v, 4);
  return u;
}
QK_INLINE qk_f32 qk_fma(qk_f32 a, qk_f32 b, qk_f32 c) { return std::fma(a, b, c); }
QK_INLINE qk_f32 qk_div(qk_f32 a, qk_f32 b) { return a / b; }
QK_INLINE qk_f32 qk_sqrt(qk_f32 v) { return std::sqrt(v); }
QK_INLINE qk_f32 qk_round(qk_f32 v) { return std::round(v); }
QK_INLINE qk_i32 qk_f32_to_i32(qk_f32 v) {
  if (v != v) return 0;
  return v >= 2147483648.0f ? 2147483647 : v < -2147483648.0f ? (-2147483647 - 1) : (qk_i32)v;
}
QK_INLINE qk_u32 qk_f32_to_u32(qk_f32 v) { return !(v > 0.0f) ? 0u : v >= 4294967296.0f ? 0xFFFFFFFFu : (qk_u32)v; }
// By the definition of binary16, not by the tables of src/tensor: a second opinion.
QK_INLINE qk_f32 qk_f16_to_f32(qk_u16 v) {
  _Float16 h;
  std::memcpy(&h, &v, 2);
  return (qk_f32)h;
}
QK_INLINE qk_u16 qk_f32_to_f16(qk_f32 v) {
  if (v != v) return 0x7FFF;
  const _Float16 h = (_Float16)v;
  qk_u16 u;
  std::memcpy(&u, &h, 2);
  return u;
}
QK_INLINE qk_f32 qk_bf16_to_f32(qk_u16 v) { return qk_as_f32((qk_u32)v << 16); }
QK_INLINE qk_u16 qk_f32_to_bf16(qk_f32 v) { return qk_bf16_of_bits(qk_as_u32(v)); }

QK_INLINE qk_i32 qk_dp4a(qk_u32 a, qk_u32 b, qk_i32 c, bool a_signed) {
  for (int i = 0; i < 32; i += 8) {
    const qk_i32 left = a_signed ? (qk_i32)(qk_i8)(a >> i) : (qk_i32)(qk_u8)(a >> i);
    c = qk_add(c, left * (qk_i32)(qk_i8)(b >> i));
  }
  return c;
}
QK_INLINE qk_i32 qk_dp4a_us(qk_u32 a, qk_u32 b, qk_i32 c) { return qk_dp4a(a, b, c, false); }
QK_INLINE qk_i32 qk_dp4a_ss(qk_u32 a, qk_u32 b, qk_i32 c) { return qk_dp4a(a, b, c, true); }
QK_INLINE qk_u32 qk_byte_perm(qk_u32 a, qk_u32 b, qk_u32 s) {
  const qk_u64 bytes = (qk_u64)b << 32 | a;
  qk_u32 r = 0;
  for (int i = 0; i < 4; ++i) r |= (qk_u32)((bytes >> (8 * ((s >> (4 * i)) & 7))) & 0xFF) << (8 * i);
  return r;
}

template <typename T>
QK_INLINE T qk_load(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
template <typename T>
QK_INLINE void qk_store(char* p, T v) {
  std::memcpy(p, &v, sizeof(T));
}
template <typename T>
QK_INLINE T qk_load_shared(const char* p) {
  return qk_load<T>(p);
}
template <typename T>
QK_INLINE void qk_store_shared(char* p, T v) {
  qk_store<T>(p, v);
}
template <typename T>
QK_INLINE T qk_load_const(const char* p) {
  return qk_load<T>(p);
}
template <typename T>
QK_INLINE T qk_load_stream(const char* p) {
  return qk_load<T>(p);
}

QK_INLINE void qk_async_copy(char* shared, const char* global) { qk_emulated_copy(shared, global, true); }
QK_INLINE void qk_async_copy_if(char* shared, const char* global, bool allowed) {
  qk_emulated_copy(shared, global, allowed);
}
QK_INLINE void qk_async_commit() { qk_emulated_commit(); }
template <int kPending>
QK_INLINE void qk_async_wait() {
  qk_emulated_wait(kPending);
}

QK_INLINE void qk_barrier() { qk_emulated_barrier(); }
QK_INLINE void qk_warp_sync() { qk_emulated_meet(QK_OP_SYNC, nullptr, 0); }
template <typename T>
QK_INLINE T qk_shuffle_index(T v, qk_u32 lane) {
  static_assert(sizeof(T) == 4, "shuffles move 32 bits");
  qk_u32 word;
  std::memcpy(&word, &v, 4);
  const qk_u32* all = qk_emulated_meet(QK_OP_SHUFFLE, &word, 1);
  std::memcpy(&v, &all[16 * (lane & 31)], 4);
  return v;
}
template <typename T>
QK_INLINE T qk_shuffle_xor(T v, qk_u32 mask) {
  return qk_shuffle_index(v, (qk_thread() & 31) ^ mask);
}

// D = A B + C as PTX documents the fragments of mma.sync: each lane gives its words (A, then B, then C) and takes its
// four elements. Element (row, column) of C lies with lane 4 * (row mod 8) + column / 2.
struct qk_fragments {
  const qk_u32* all;
  qk_u32 a_words;
  qk_u32 a(qk_u32 lane, qk_u32 word) const { return all[16 * lane + word]; }
  qk_u32 b(qk_u32 lane, qk_u32 word) const { return all[16 * lane + a_words + word]; }
  // Bytes: A (row, k) and B (k, column).
  qk_u32 a_byte(qk_u32 row, qk_u32 k) const {
    return a(4 * (row & 7) + (k & 15) / 4, row / 8 + 2 * (k / 16)) >> (8 * (k & 3)) & 0xFF;
  }
  qk_u32 b_byte(qk_u32 k, qk_u32 column) const { return b(4 * column + (k & 15) / 4, k / 16) >> (8 * (k & 3)) & 0xFF; }
  qk_u16 a_half(qk_u32 row, qk_u32 k) const {
    return (qk_u16)(a(4 * (row & 7) + (k & 7) / 2, row / 8 + 2 * (k / 8)) >> (16 * (k & 1)));
  }
  qk_u16 b_half(qk_u32 k, qk_u32 column) const {
    return (qk_u16)(b(4 * column + (k & 7) / 2, k / 8) >> (16 * (k & 1)));
  }
};
template <bool kSigned, qk_u32 kDepth>
QK_INLINE qk_i32x4 qk_mma_bytes(const qk_u32* words, qk_u32 a_words, qk_u32 b_words, qk_i32x4 c) {
  const qk_fragments f{qk_emulated_meet(QK_OP_MMA, words, a_words + b_words), a_words};
  const qk_u32 lane = qk_thread() & 31;
  qk_i32 d[4] = {c.x, c.y, c.z, c.w};
  for (qk_u32 i = 0; i < 4; ++i) {
    for (qk_u32 k = 0; k < kDepth; ++k) {
      const qk_u32 byte = f.a_byte(lane / 4 + 8 * (i / 2), k);
      d[i] = qk_add(
          d[i], (kSigned ? (qk_i32)(qk_i8)byte : (qk_i32)byte) * (qk_i32)(qk_i8)f.b_byte(k, 2 * (lane & 3) + (i & 1)));
    }
  }
  return {d[0], d[1], d[2], d[3]};
}
QK_INLINE qk_i32x4 qk_mma_u8s8_k32(qk_u32x4 a, qk_u32x2 b, qk_i32x4 c) {
  const qk_u32 w[] = {a.x, a.y, a.z, a.w, b.x, b.y};
  return qk_mma_bytes<false, 32>(w, 4, 2, c);
}
QK_INLINE qk_i32x4 qk_mma_s8s8_k32(qk_u32x4 a, qk_u32x2 b, qk_i32x4 c) {
  const qk_u32 w[] = {a.x, a.y, a.z, a.w, b.x, b.y};
  return qk_mma_bytes<true, 32>(w, 4, 2, c);
}
QK_INLINE qk_i32x4 qk_mma_u8s8_k16(qk_u32x2 a, qk_u32 b, qk_i32x4 c) {
  const qk_u32 w[] = {a.x, a.y, b};
  return qk_mma_bytes<false, 16>(w, 2, 1, c);
}
QK_INLINE qk_i32x4 qk_mma_s8s8_k16(qk_u32x2 a, qk_u32 b, qk_i32x4 c) {
  const qk_u32 w[] = {a.x, a.y, b};
  return qk_mma_bytes<true, 16>(w, 2, 1, c);
}
template <typename Widen>
QK_INLINE qk_f32x4 qk_mma_halves(qk_u32x4 a, qk_u32x2 b, qk_f32x4 c, Widen widen) {
  const qk_u32 w[] = {a.x, a.y, a.z, a.w, b.x, b.y};
  const qk_fragments f{qk_emulated_meet(QK_OP_MMA, w, 6), 4};
  const qk_u32 lane = qk_thread() & 31;
  qk_f32 d[4] = {c.x, c.y, c.z, c.w};
  for (qk_u32 i = 0; i < 4; ++i) {
    for (qk_u32 k = 0; k < 16; ++k)
      d[i] = d[i] + widen(f.a_half(lane / 4 + 8 * (i / 2), k)) * widen(f.b_half(k, 2 * (lane & 3) + (i & 1)));
  }
  return {d[0], d[1], d[2], d[3]};
}
QK_INLINE qk_f32x4 qk_mma_f16_k16(qk_u32x4 a, qk_u32x2 b, qk_f32x4 c) { return qk_mma_halves(a, b, c, qk_f16_to_f32); }
QK_INLINE qk_f32x4 qk_mma_bf16_k16(qk_u32x4 a, qk_u32x2 b, qk_f32x4 c) {
  return qk_mma_halves(a, b, c, qk_bf16_to_f32);
}

#endif
