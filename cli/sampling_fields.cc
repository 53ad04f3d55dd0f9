#include "cli/sampling_fields.h"

#include <algorithm>
#include <climits>

#include "cli/flags.h"
#include "cli/numbers.h"

namespace quern::cli {
namespace {

Status SetFloat(std::optional<float>& field, std::string_view text) {
  QUERN_ASSIGN_OR_RETURN(const double value, ParseFloat(text));
  field = static_cast<float>(value);
  return {};
}

Status SetFloat(float& field, std::string_view text) {
  QUERN_ASSIGN_OR_RETURN(const double value, ParseFloat(text));
  field = static_cast<float>(value);
  return {};
}

std::string Show(const std::optional<float>& field) { return field ? fmt::format("{:g}", *field) : ""; }

Status SetTopK(SamplingParams& params, std::string_view text) {
  QUERN_ASSIGN_OR_RETURN(const int64_t value, ParseInt(text));
  if (value > INT_MAX) return Fail(Code::kInvalidArgument, "{} is out of range", text);
  params.top_k = static_cast<int>(std::max<int64_t>(value, -1));
  return {};
}

Status SetSeed(SamplingParams& params, std::string_view text) {
  if (text == "random") {
    params.seed.reset();
    return {};
  }
  QUERN_ASSIGN_OR_RETURN(const int64_t value, ParseInt(text));
  if (value < 0) return Fail(Code::kInvalidArgument, "{} is out of range", text);
  params.seed = static_cast<uint64_t>(value);
  return {};
}

Status SetBias(SamplingParams& params, std::string_view text) {
  if (text == "-") {
    params.logit_bias.clear();
    return {};
  }
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return Fail(Code::kInvalidArgument, "\"{}\" is not ID=NUMBER", text);
  QUERN_ASSIGN_OR_RETURN(const int64_t id, ParseInt(text.substr(0, equals)));
  QUERN_ASSIGN_OR_RETURN(const double bias, ParseFloat(text.substr(equals + 1)));
  if (id < 0 || id > INT_MAX) return Fail(Code::kInvalidArgument, "{} is not a token id", id);
  params.logit_bias.emplace_back(static_cast<TokenId>(id), static_cast<float>(bias));
  return {};
}

std::string ShowBias(const SamplingParams& params) {
  std::string text;
  for (const auto& [id, bias] : params.logit_bias) text += fmt::format("{}{}={:g}", text.empty() ? "" : " ", id, bias);
  return text;
}

std::string DefaultText(const SamplingField& field) {
  if (field.is_list) return "";
  if (field.name == "seed") return "; default random";
  const std::string shown = field.show(SamplingParams());
  return "; default " + (shown.empty() ? "the model's" : shown);
}

using P = SamplingParams;
constexpr SamplingField kFields[] = {
    {"temperature", "0 to 2; 0 = greedy", "randomness", false,
     [](P& p, std::string_view t) { return SetFloat(p.temperature, t); },
     [](const P& p) { return Show(p.temperature); }},
    {"top-p", "above 0 to 1", "nucleus: the likeliest tokens that reach this probability", false,
     [](P& p, std::string_view t) { return SetFloat(p.top_p, t); }, [](const P& p) { return Show(p.top_p); }},
    {"top-k", "0 (off) and above", "only the K likeliest tokens", false, SetTopK,
     [](const P& p) { return p.top_k ? fmt::to_string(*p.top_k) : ""; }},
    {"min-p", "0 to 1", "drop tokens below this share of the likeliest one", false,
     [](P& p, std::string_view t) { return SetFloat(p.min_p, t); }, [](const P& p) { return Show(p.min_p); }},
    {"repeat-penalty", "above 0; 1 = off", "divides the logit of tokens seen before", false,
     [](P& p, std::string_view t) { return SetFloat(p.repeat_penalty, t); },
     [](const P& p) { return fmt::format("{:g}", p.repeat_penalty); }},
    {"presence-penalty", "-2 to 2", "subtracted once from tokens seen before", false,
     [](P& p, std::string_view t) { return SetFloat(p.presence_penalty, t); },
     [](const P& p) { return fmt::format("{:g}", p.presence_penalty); }},
    {"frequency-penalty", "-2 to 2", "subtracted per occurrence of a token", false,
     [](P& p, std::string_view t) { return SetFloat(p.frequency_penalty, t); },
     [](const P& p) { return fmt::format("{:g}", p.frequency_penalty); }},
    {"seed", "0 and above, or random", "of the sampling; the one used is reported", false, SetSeed,
     [](const P& p) { return p.seed ? fmt::to_string(*p.seed) : ""; }},
    {"logit-bias", "ID=NUMBER, -100 to 100", "added to the logit of a token", true, SetBias, ShowBias},
};

}  // namespace

std::span<const SamplingField> SamplingFields() { return kFields; }

const SamplingField* FindSamplingField(std::string_view name) {
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  for (const SamplingField& field : kFields) {
    if (field.name == dashed) return &field;
  }
  return nullptr;
}

Status SetSamplingField(SamplingParams& params, const SamplingField& field, std::string_view text) {
  SamplingParams changed = params;
  const Status parsed = field.set(changed, text);
  if (!parsed) {
    return Fail(Code::kInvalidArgument, "{}: {}; allowed is {}", field.name, parsed.error().message, field.range);
  }
  if (!Validate(changed)) {
    return Fail(Code::kInvalidArgument, "{} is {}; allowed is {}", field.name, text, field.range);
  }
  params = std::move(changed);
  return {};
}

void AddSamplingFlags(CLI::App& app, SamplingParams* params) {
  for (const SamplingField& field : kFields) {
    const std::string help = fmt::format("{} [{}{}]", field.meaning, field.range, DefaultText(field));
    const std::string flag = "--" + std::string(field.name);
    const auto set = [params, &field](const std::string& text) { return SetSamplingField(*params, field, text); };
    CLI::Option* option =
        field.is_list ? AddParsedList(app, flag, "ID=F", help, set)
                      : AddParsed(app, flag, field.name == "seed" || field.name == "top-k" ? "N" : "F", help, set);
    Group(option, "Sampling");
  }
}

}  // namespace quern::cli
