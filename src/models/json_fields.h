// Reading a Hugging Face config.json, which is hostile input: every field is checked for type and range, and an error
// names the file, the field and what was found. A field that is null counts as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace quern::models {

class JsonFields {
 public:
  // `object` must outlive this; `where` names it in messages: "config.json" or "config.json: rope_parameters".
  JsonFields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  // Absent: nullopt. Wrong type or outside [low, high]: Corrupt.
  Result<std::optional<int64_t>> Int(std::string_view key, int64_t low, int64_t high) const;
  Result<std::optional<double>> Float(std::string_view key, double low, double high) const;
  Result<std::optional<bool>> Bool(std::string_view key) const;
  Result<std::optional<std::string>> String(std::string_view key) const;
  // A number or a list of numbers.
  Result<std::vector<int64_t>> IntOrInts(std::string_view key, int64_t low, int64_t high) const;
  Result<std::optional<std::vector<std::string>>> Strings(std::string_view key) const;
  // The object under `key`; nullptr when absent.
  Result<const Json*> Object(std::string_view key) const;

  // As above, but absent is Corrupt, or the default.
  Result<int64_t> NeedInt(std::string_view key, int64_t low, int64_t high) const;
  Result<int64_t> IntOr(std::string_view key, int64_t low, int64_t high, int64_t fallback) const;
  Result<double> FloatOr(std::string_view key, double low, double high, double fallback) const;
  Result<bool> BoolOr(std::string_view key, bool fallback) const;

  const std::string& where() const { return where_; }

 private:
  const Json* Find(std::string_view key) const;
  tl::unexpected<Error> Wrong(std::string_view key, std::string_view wanted, const Json& found) const;

  const Json& object_;
  std::string where_;
};

}  // namespace quern::models
