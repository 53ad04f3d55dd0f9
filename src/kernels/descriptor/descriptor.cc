#include "kernels/descriptor/descriptor.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"

namespace quern::kernels {
namespace {

template <size_t N, typename E>
std::string_view Pick(const std::string_view (&names)[N], E value) {
  return names[static_cast<size_t>(value)];
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string Formats(const Descriptor& descriptor) {
  std::string text;
  for (const WeightOperand& w : descriptor.weights) text += (text.empty() ? "" : "_") + Lower(quern::NameOf(w.format));
  // Operands of one format are one word: "q4_0", not "q4_0_q4_0".
  const bool uniform = std::all_of(descriptor.weights.begin(), descriptor.weights.end(),
                                   [&](const WeightOperand& w) { return w.format == descriptor.weights[0].format; });
  if (descriptor.weights.empty()) return "none";
  return uniform ? Lower(quern::NameOf(descriptor.weights[0].format)) : text;
}

}  // namespace

std::string_view NameOf(Family family) {
  constexpr std::string_view kNames[] = {"matmul",   "gated_matmul",   "quantize_rows", "rms_norm",
                                         "norm_add", "head_norm_rope", "gelu_mul",      "add",
                                         "softcap",  "embed",          "router",        "argmax"};
  static_assert(std::size(kNames) == static_cast<size_t>(Family::kArgmax) + 1);
  return Pick(kNames, family);
}
std::string_view NameOf(Encoding encoding) {
  constexpr std::string_view kNames[] = {"f32", "f16", "bf16", "qa8", "i32"};
  return Pick(kNames, encoding);
}
std::string_view NameOf(Layout layout) {
  constexpr std::string_view kNames[] = {"file", "rp16"};
  return Pick(kNames, layout);
}
std::string_view NameOf(NumericsClass numerics) {
  constexpr std::string_view kNames[] = {"elementwise", "dot-f", "dot-i8", "mma16-row", "mma16-tile"};
  return Pick(kNames, numerics);
}
std::string_view NameOf(Epilogue epilogue) {
  constexpr std::string_view kNames[] = {"store", "scale", "softcap", "argmax"};
  return Pick(kNames, epilogue);
}
std::string_view NameOf(Mma mma) {
  constexpr std::string_view kNames[] = {"lanes", "dp4a", "m16n8k16", "m16n8k32"};
  return Pick(kNames, mma);
}

const Dim* Descriptor::dim(std::string_view name) const {
  const auto found = std::find_if(dims.begin(), dims.end(), [&](const Dim& d) { return d.name == name; });
  return found == dims.end() ? nullptr : &*found;
}

std::string CanonicalText(const Descriptor& descriptor) {
  std::vector<Dim> dims = descriptor.dims;
  std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.name < b.name; });
  std::string text = "dims=";
  for (const Dim& d : dims) {
    if (&d != dims.data()) text += ",";
    text += d.fixed() ? fmt::format("{}:{}", d.name, d.min)
                      : fmt::format("{}:{}..{}*{}", d.name, d.min, d.max, d.multiple_of);
  }
  text += ";epilogue=";
  for (size_t i = 0; i < descriptor.epilogue.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", NameOf(descriptor.epilogue[i]));
  text += fmt::format(";family={};in={};numerics={};out={};weights=", NameOf(descriptor.family), NameOf(descriptor.in),
                      NameOf(descriptor.numerics), NameOf(descriptor.out));
  for (size_t i = 0; i < descriptor.weights.size(); ++i) {
    text += fmt::format("{}{}:{}", i == 0 ? "" : ",", Lower(quern::NameOf(descriptor.weights[i].format)),
                        NameOf(descriptor.weights[i].layout));
  }
  return text;
}

std::string CanonicalText(const Schedule& schedule) {
  return fmt::format("min_blocks={};mma={};rows_per_warp={};split={};stages={};unroll={};warps={}", schedule.min_blocks,
                     NameOf(schedule.mma), schedule.rows_per_warp, schedule.split, schedule.stages, schedule.unroll,
                     schedule.warps);
}

std::string DescriptorId(const Descriptor& descriptor) { return Sha256Hex(CanonicalText(descriptor)).substr(0, 16); }
std::string ScheduleId(const Schedule& schedule) { return Sha256Hex(CanonicalText(schedule)).substr(0, 16); }

std::string ShapeClass(const Descriptor& descriptor) {
  const Dim* rows = descriptor.dim("R");
  if (rows == nullptr) return "rows1";
  if (rows->max <= 8)
    return rows->fixed() ? fmt::format("rows{}", rows->min) : fmt::format("rows{}_{}", rows->min, rows->max);
  return "rows";
}

std::string KernelId(const Descriptor& descriptor, const Schedule& schedule) {
  std::string id = fmt::format("{}.{}.{}.{}", NameOf(descriptor.family), Formats(descriptor), NameOf(descriptor.in),
                               ShapeClass(descriptor));
  for (const Epilogue e : descriptor.epilogue) {
    if (e != Epilogue::kStore) id += fmt::format(".{}", NameOf(e));
  }
  if (!descriptor.weights.empty()) id += fmt::format(".{}", NameOf(descriptor.weights[0].layout));
  id += fmt::format(".{}", NameOf(schedule.mma));
  return id + "." + Sha256Hex(DescriptorId(descriptor) + "," + ScheduleId(schedule)).substr(0, 8);
}

}  // namespace quern::kernels
