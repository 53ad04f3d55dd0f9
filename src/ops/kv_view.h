// What a step sees of the key/value cache. It does not know who allocates pages or why a batch has this shape.
//
// A cache is made of groups: the K/V-owning layers of equal geometry and equal window. Each group has one pool of pages
// of kPageTokens tokens, and each sequence one page table per group that is shared by the group's layers. Pool layout,
// for K and for V: [layers in group, pages, Hkv, P, Dh] in the cache's dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/dtype.h"

namespace quern::ops {

inline constexpr int kPageTokens = 64;

struct KvGroupSpec {
  int num_layers = 0;    // layers of the model that own K/V in this group
  int num_kv_heads = 0;  // Hkv
  int head_dim = 0;      // Dh
  int window = 0;        // positions visible including the query's own; 0 = all
};

// Which group and which place in it a K/V-owning layer has.
struct KvSlot {
  int group = 0;
  int layer = 0;  // within the group
};

struct KvSpec {
  std::vector<KvGroupSpec> groups;
};

// One group's memory.
struct KvPoolView {
  std::byte* k = nullptr;  // [layers, pages, Hkv, P, Dh]
  std::byte* v = nullptr;
  DType dtype = DType::kF16;
  int64_t num_pages = 0;
};

// One sequence's page table in one group: position p lies in entry (p / P) mod pages.size(), row p mod P.
// Full groups have one entry per page of the sequence; windowed groups a fixed number of entries.
struct KvTableView {
  std::span<const int32_t> pages;
};

struct KvSequenceView {
  std::span<const KvTableView> tables;  // by group
};

}  // namespace quern::ops
