// KvCache: the page pools of one model, one per layer group, and the sequences that hold pages in them.
//
// Pages of 64 tokens are reference-counted and copied on write: forking a sequence copies nothing. Full groups keep
// every page of a sequence; windowed groups keep a ring of ceil((W - 1 + step rows) / 64) + 1 pages, enough that the
// earliest query of a step still sees its whole window after the step's own rows are written. docs/kv.md tells the
// whole story. Not thread-safe: one thread at a time (the engine's step lock).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "device/cpu/cpu_device.h"
#include "ops/kv_view.h"

namespace quern::runtime {

struct KvCacheOptions {
  DType dtype = DType::kF16;
  int64_t context = 8192;   // positions per sequence
  int max_sequences = 4;    // forks and snapshots included
  int max_step_rows = 512;  // largest number of rows of one sequence in one step
};

class KvSequence;

class KvCache {
 public:
  // Bytes that Create will take.
  static int64_t NumBytes(const ops::KvSpec& spec, const KvCacheOptions& options);
  static Result<std::unique_ptr<KvCache>> Create(const ops::KvSpec& spec, const KvCacheOptions& options);

  // An empty sequence. ResourceExhausted when max_sequences are alive. The cache must outlive it.
  Result<KvSequence> NewSequence();

  std::span<const ops::KvPoolView> pools() const { return pools_; }
  int64_t context() const { return options_.context; }
  int max_step_rows() const { return options_.max_step_rows; }
  int num_sequences() const { return num_sequences_; }
  int64_t num_bytes() const { return num_bytes_; }
  int64_t num_free_pages(int group) const { return static_cast<int64_t>(groups_[group].free_pages.size()); }
  int64_t num_copied_pages() const { return num_copied_pages_; }  // copies on write so far

 private:
  friend class KvSequence;
  struct Group {
    ops::KvGroupSpec spec;
    int64_t ring_pages = 0;           // entries of a windowed table; 0: full
    std::vector<int32_t> references;  // by page
    std::vector<int32_t> free_pages;  // last one is taken next
    device::cpu::HostBuffer k, v;
  };

  KvCache(const ops::KvSpec& spec, const KvCacheOptions& options);
  static int64_t RingPages(const ops::KvGroupSpec& spec, const KvCacheOptions& options);
  static int64_t PoolPages(const ops::KvGroupSpec& spec, const KvCacheOptions& options);
  static int64_t PageBytes(const ops::KvGroupSpec& spec, DType dtype);  // of K or V in one layer

  int32_t TakePage(int group);
  void Share(int group, int32_t page) { ++groups_[group].references[page]; }
  void Release(int group, int32_t page);
  void CopyPage(int group, int32_t from, int32_t to);

  KvCacheOptions options_;
  std::vector<Group> groups_;
  std::vector<ops::KvPoolView> pools_;
  int num_sequences_ = 0;
  int64_t num_bytes_ = 0, num_copied_pages_ = 0;
};

// One sequence's pages. Move-only; frees its pages when destroyed.
class KvSequence {
 public:
  KvSequence(KvSequence&& other) noexcept;
  KvSequence& operator=(KvSequence&& other) noexcept;
  ~KvSequence();

  // Positions held: the next row goes to position length().
  int64_t length() const { return length_; }

  // Makes the pages of positions [length, length + rows) exist and belong to this sequence alone. rows is at most
  // max_step_rows. ResourceExhausted when the context ends before that.
  Status Reserve(int64_t rows);
  // The step has written that many rows.
  void Advance(int64_t rows) { length_ += rows; }

  // A second sequence with the same content; pages are shared until one of them writes.
  Result<KvSequence> Fork() const;

  // Whether the sequence can go back to `length` tokens: every windowed group must still hold the window before it.
  bool CanTruncate(int64_t length) const;
  // Drops everything from position `length` on. Needs CanTruncate(length).
  void Truncate(int64_t length);

  // Valid until the next Reserve, Truncate or move.
  ops::KvSequenceView View() const;

 private:
  friend class KvCache;
  struct Table {
    std::vector<int32_t> pages;  // full: by logical page; windowed: by logical page mod ring size, -1 = none
    int64_t first_page = 0;      // lowest logical page still held
    int64_t end_page = 0;        // logical pages [first_page, end_page) are held
  };

  explicit KvSequence(KvCache* cache);
  void Free();
  int32_t& Entry(int group, int64_t logical_page);

  KvCache* cache_ = nullptr;
  std::vector<Table> tables_;  // by group
  mutable std::vector<ops::KvTableView> views_;
  int64_t length_ = 0;
};

}  // namespace quern::runtime
