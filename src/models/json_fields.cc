#include "models/json_fields.h"

#include <cmath>

namespace quern::models {

const Json* JsonFields::Find(std::string_view key) const {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

tl::unexpected<Error> JsonFields::Wrong(std::string_view key, std::string_view wanted, const Json& found) const {
  std::string text = found.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return Fail(Code::kCorrupt, "{}: \"{}\" is {}, expected {}", where_, key, text, wanted);
}

Result<std::optional<int64_t>> JsonFields::Int(std::string_view key, int64_t low, int64_t high) const {
  const Json* found = Find(key);
  if (found == nullptr) return std::nullopt;
  const bool is_int = found->is_number_integer() &&
                      !(found->is_number_unsigned() && found->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
  if (!is_int || found->get<int64_t>() < low || found->get<int64_t>() > high) {
    return Wrong(key, fmt::format("an integer from {} to {}", low, high), *found);
  }
  return found->get<int64_t>();
}

Result<std::optional<double>> JsonFields::Float(std::string_view key, double low, double high) const {
  const Json* found = Find(key);
  if (found == nullptr) return std::nullopt;
  const double value = found->is_number() ? found->get<double>() : NAN;
  if (!(value >= low && value <= high)) return Wrong(key, fmt::format("a number from {} to {}", low, high), *found);
  return value;
}

Result<std::optional<bool>> JsonFields::Bool(std::string_view key) const {
  const Json* found = Find(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_boolean()) return Wrong(key, "true or false", *found);
  return found->get<bool>();
}

Result<std::optional<std::string>> JsonFields::String(std::string_view key) const {
  const Json* found = Find(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_string()) return Wrong(key, "a string", *found);
  return found->get<std::string>();
}

Result<std::vector<int64_t>> JsonFields::IntOrInts(std::string_view key, int64_t low, int64_t high) const {
  const Json* found = Find(key);
  std::vector<int64_t> values;
  if (found == nullptr) return values;
  const auto append = [&](const Json& item) {
    if (!item.is_number_integer()) return false;
    values.push_back(item.get<int64_t>());
    return values.back() >= low && values.back() <= high;
  };
  bool good = true;
  if (found->is_array()) {
    for (const Json& item : *found) good = good && append(item);
  } else {
    good = append(*found);
  }
  if (!good) return Wrong(key, fmt::format("an integer from {} to {}, or a list of them", low, high), *found);
  return values;
}

Result<std::optional<std::vector<std::string>>> JsonFields::Strings(std::string_view key) const {
  const Json* found = Find(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_array()) return Wrong(key, "a list of strings", *found);
  std::vector<std::string> values;
  for (const Json& item : *found) {
    if (!item.is_string()) return Wrong(key, "a list of strings", *found);
    values.push_back(item.get<std::string>());
  }
  return values;
}

Result<const Json*> JsonFields::Object(std::string_view key) const {
  const Json* found = Find(key);
  if (found != nullptr && !found->is_object()) return Wrong(key, "an object", *found);
  return found;
}

Result<int64_t> JsonFields::NeedInt(std::string_view key, int64_t low, int64_t high) const {
  QUERN_ASSIGN_OR_RETURN(const std::optional<int64_t> value, Int(key, low, high));
  if (!value) return Fail(Code::kCorrupt, "{}: \"{}\" is missing", where_, key);
  return *value;
}

Result<int64_t> JsonFields::IntOr(std::string_view key, int64_t low, int64_t high, int64_t fallback) const {
  QUERN_ASSIGN_OR_RETURN(const std::optional<int64_t> value, Int(key, low, high));
  return value.value_or(fallback);
}

Result<double> JsonFields::FloatOr(std::string_view key, double low, double high, double fallback) const {
  QUERN_ASSIGN_OR_RETURN(const std::optional<double> value, Float(key, low, high));
  return value.value_or(fallback);
}

Result<bool> JsonFields::BoolOr(std::string_view key, bool fallback) const {
  QUERN_ASSIGN_OR_RETURN(const std::optional<bool> value, Bool(key));
  return value.value_or(fallback);
}

}  // namespace quern::models
