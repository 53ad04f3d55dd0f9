#include "runtime/kv/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "tensor/tensor_view.h"

namespace quern::runtime {
namespace {

constexpr int64_t kP = ops::kPageTokens;

int64_t PagesFor(int64_t tokens) { return (tokens + kP - 1) / kP; }

}  // namespace

int64_t KvCache::RingPages(const ops::KvGroupSpec& spec, const KvCacheOptions& options) {
  if (spec.window == 0) return 0;
  return std::min(PagesFor(spec.window - 1 + int64_t{options.max_step_rows}) + 1, PagesFor(options.context));
}

int64_t KvCache::PoolPages(const ops::KvGroupSpec& spec, const KvCacheOptions& options) {
  const int64_t per_sequence = spec.window == 0 ? PagesFor(options.context) : RingPages(spec, options);
  return per_sequence * options.max_sequences;
}

int64_t KvCache::PageBytes(const ops::KvGroupSpec& spec, DType dtype) {
  return TensorView::RowBytes(dtype, int64_t{spec.num_kv_heads} * kP * spec.head_dim);
}

int64_t KvCache::NumBytes(const ops::KvSpec& spec, const KvCacheOptions& options) {
  int64_t bytes = 0;
  for (const ops::KvGroupSpec& group : spec.groups) {
    bytes += 2 * group.num_layers * PoolPages(group, options) * PageBytes(group, options.dtype);
  }
  return bytes;
}

KvCache::KvCache(const ops::KvSpec& spec, const KvCacheOptions& options) : options_(options) {
  for (const ops::KvGroupSpec& group : spec.groups)
    groups_.push_back({group, RingPages(group, options), {}, {}, {}, {}});
}

Result<std::unique_ptr<KvCache>> KvCache::Create(const ops::KvSpec& spec, const KvCacheOptions& options) {
  QUERN_CHECK(options.context > 0 && options.max_sequences > 0 && options.max_step_rows > 0);
  std::unique_ptr<KvCache> cache(new KvCache(spec, options));
  for (Group& group : cache->groups_) {
    const int64_t pages = PoolPages(group.spec, options);
    const int64_t bytes = group.spec.num_layers * pages * PageBytes(group.spec, options.dtype);
    QUERN_ASSIGN_OR_RETURN(group.k, device::cpu::HostBuffer::Allocate(static_cast<size_t>(bytes)));
    QUERN_ASSIGN_OR_RETURN(group.v, device::cpu::HostBuffer::Allocate(static_cast<size_t>(bytes)));
    cache->num_bytes_ += 2 * bytes;
    group.references.assign(pages, 0);
    for (int64_t page = pages; page-- > 0;) group.free_pages.push_back(static_cast<int32_t>(page));
    cache->pools_.push_back({group.k.data(), group.v.data(), options.dtype, pages});
  }
  return cache;
}

Result<KvSequence> KvCache::NewSequence() {
  if (num_sequences_ >= options_.max_sequences) {
    return WithHint(Fail(Code::kResourceExhausted, "all {} sequences of the cache are in use", options_.max_sequences),
                    "close a session first");
  }
  ++num_sequences_;
  return KvSequence(this);
}

int32_t KvCache::TakePage(int group) {
  // Cannot run out: the pool has a full table for each of max_sequences sequences, and shared pages only leave more
  // over.
  std::vector<int32_t>& free_pages = groups_[group].free_pages;
  QUERN_CHECK(!free_pages.empty());
  const int32_t page = free_pages.back();
  free_pages.pop_back();
  groups_[group].references[page] = 1;
  return page;
}

void KvCache::Release(int group, int32_t page) {
  Group& g = groups_[group];
  QUERN_DCHECK(g.references[page] > 0);
  if (--g.references[page] == 0) g.free_pages.push_back(page);
}

void KvCache::CopyPage(int group, int32_t from, int32_t to) {
  Group& g = groups_[group];
  const int64_t bytes = PageBytes(g.spec, options_.dtype), pages = static_cast<int64_t>(g.references.size());
  for (int layer = 0; layer < g.spec.num_layers; ++layer) {
    const int64_t base = layer * pages;
    std::memcpy(g.k.data() + (base + to) * bytes, g.k.data() + (base + from) * bytes, bytes);
    std::memcpy(g.v.data() + (base + to) * bytes, g.v.data() + (base + from) * bytes, bytes);
  }
  ++num_copied_pages_;
}

KvSequence::KvSequence(KvCache* cache) : cache_(cache), tables_(cache->groups_.size()) {
  for (size_t g = 0; g < tables_.size(); ++g) tables_[g].pages.assign(cache->groups_[g].ring_pages, -1);
}

KvSequence::KvSequence(KvSequence&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)), tables_(std::move(other.tables_)), length_(other.length_) {}

KvSequence& KvSequence::operator=(KvSequence&& other) noexcept {
  if (this == &other) return *this;
  Free();
  cache_ = std::exchange(other.cache_, nullptr);
  tables_ = std::move(other.tables_);
  length_ = other.length_;
  return *this;
}

KvSequence::~KvSequence() { Free(); }

void KvSequence::Free() {
  if (cache_ == nullptr) return;
  Truncate(0);
  --cache_->num_sequences_;
  cache_ = nullptr;
}

int32_t& KvSequence::Entry(int group, int64_t logical_page) {
  Table& table = tables_[group];
  const int64_t ring = cache_->groups_[group].ring_pages;
  return table.pages[ring == 0 ? logical_page : logical_page % ring];
}

Status KvSequence::Reserve(int64_t rows) {
  QUERN_CHECK(rows <= cache_->max_step_rows());
  const int64_t end = length_ + rows;
  if (end > cache_->context()) {
    return WithHint(Fail(Code::kResourceExhausted, "{} tokens do not fit in the context of {}", end, cache_->context()),
                    "shorten the prompt or raise --ctx");
  }
  for (int g = 0; g < static_cast<int>(tables_.size()); ++g) {
    Table& table = tables_[g];
    const int64_t ring = cache_->groups_[g].ring_pages;
    // The page that the first new row goes into may be half full and shared.
    if (rows > 0 && length_ % kP != 0) {
      int32_t& entry = Entry(g, length_ / kP);
      if (cache_->groups_[g].references[entry] > 1) {
        const int32_t copy = cache_->TakePage(g);
        cache_->CopyPage(g, entry, copy);
        cache_->Release(g, entry);
        entry = copy;
      }
    }
    for (; table.end_page < PagesFor(end); ++table.end_page) {
      if (ring == 0) {
        table.pages.push_back(cache_->TakePage(g));
        continue;
      }
      int32_t& entry = Entry(g, table.end_page);
      if (entry >= 0) {
        cache_->Release(g, entry);
        table.first_page = table.end_page - ring + 1;
      }
      entry = cache_->TakePage(g);
    }
  }
  return {};
}

Result<KvSequence> KvSequence::Fork() const {
  QUERN_ASSIGN_OR_RETURN(KvSequence fork, cache_->NewSequence());
  fork.tables_ = tables_;
  fork.length_ = length_;
  for (size_t g = 0; g < tables_.size(); ++g) {
    for (const int32_t page : tables_[g].pages) {
      if (page >= 0) cache_->Share(static_cast<int>(g), page);
    }
  }
  return fork;
}

bool KvSequence::CanTruncate(int64_t length) const {
  if (length > length_) return false;
  for (size_t g = 0; g < tables_.size(); ++g) {
    const int window = cache_->groups_[g].spec.window;
    // The next query, at position `length`, sees positions from length - W + 1 on.
    if (window > 0 && tables_[g].first_page * kP > std::max<int64_t>(0, length - window + 1)) return false;
  }
  return true;
}

void KvSequence::Truncate(int64_t length) {
  QUERN_CHECK(length == 0 || CanTruncate(length));
  for (int g = 0; g < static_cast<int>(tables_.size()); ++g) {
    Table& table = tables_[g];
    const int64_t keep = PagesFor(length);
    while (table.end_page > keep && table.end_page > table.first_page) {
      int32_t& entry = Entry(g, --table.end_page);
      cache_->Release(g, entry);
      entry = -1;
      if (cache_->groups_[g].ring_pages == 0) table.pages.pop_back();
    }
    if (length == 0) table.first_page = table.end_page = 0;
  }
  length_ = length;
}

ops::KvSequenceView KvSequence::View() const {
  views_.clear();
  for (const Table& table : tables_) views_.push_back({table.pages});
  return {views_};
}

}  // namespace quern::runtime
