#include "models/registry.h"

#include "models/gemma3/forward.h"
#include "models/gemma3/names.h"
#include "models/gemma4/forward.h"
#include "models/gemma4/names.h"

namespace quern::models {

Result<std::unique_ptr<Decoder>> MakeDecoder(const Checkpoint& checkpoint) {
  if (checkpoint.architecture == "gemma4") {
    QUERN_ASSIGN_OR_RETURN(gemma4::Gemma4Config config,
                           checkpoint.is_gguf() ? gemma4::Gemma4Config::FromGguf(*checkpoint.gguf)
                                                : gemma4::Gemma4Config::FromJson(checkpoint.folder->config));
    return gemma4::MakeGemma4(std::move(config), checkpoint.tensors);
  }
  if (checkpoint.architecture == "gemma3") {
    QUERN_ASSIGN_OR_RETURN(gemma3::Gemma3Config config,
                           checkpoint.is_gguf() ? gemma3::Gemma3Config::FromGguf(*checkpoint.gguf)
                                                : gemma3::Gemma3Config::FromJson(checkpoint.folder->config));
    return gemma3::MakeGemma3(config, checkpoint.tensors);
  }
  return Fail(Code::kUnsupported, "architecture \"{}\" has no decoder in this build", checkpoint.architecture);
}

namespace {

NameTable NamesOf(std::string_view architecture) {
  return architecture == "gemma3" ? gemma3::Names() : gemma4::Names();
}

}  // namespace

std::optional<std::string> CanonicalTensorName(std::string_view architecture, std::string_view hf_name) {
  return CanonicalName(NamesOf(architecture), hf_name);
}

std::optional<std::string> HfTensorName(std::string_view architecture, std::string_view canonical_name) {
  return HfName(NamesOf(architecture), canonical_name);
}

}  // namespace quern::models
