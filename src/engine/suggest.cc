#include "quern/suggest.h"

#include <algorithm>
#include <utility>

namespace quern {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment distance: insert, delete, replace, swap of neighbours. Three rows suffice.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) && Lower(a[i - 2]) == Lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> NearestNames(std::string_view name, std::span<const std::string> candidates, size_t limit) {
  constexpr size_t kLongestCompared = 256;  // a hostile key must not cost quadratic time
  if (name.size() > kLongestCompared) return {};
  const size_t reach = name.size() / 3 + 1;
  std::vector<std::pair<size_t, size_t>> found;  // distance, index
  for (size_t i = 0; i < candidates.size(); ++i) {
    const size_t distance = EditDistance(name, candidates[i]);
    if (distance <= reach) found.emplace_back(distance, i);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < found.size() && i < limit; ++i) names.push_back(candidates[found[i].second]);
  return names;
}

}  // namespace quern
