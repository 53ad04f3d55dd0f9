// The table of settings: schema, parser, flags, documentation and `quern config show` all read this one. A setting that
// has no effect must not be here.
#include <array>

#include "quern/config.h"

namespace quern {
namespace {

using T = SettingType;

constexpr std::array kSettings = {
    Setting{"general.log_format", T::kEnum, "--log-format", "QUERN_LOG_FORMAT", "text", "text|json",
            "form of the lines on stderr"},
    Setting{"general.progress", T::kEnum, "--progress", "QUERN_PROGRESS", "auto", "auto|plain|none",
            "auto: a bar on a terminal, otherwise a line every 10 % or 5 s, whichever is rarer"},
    Setting{"general.color", T::kEnum, "--color", "QUERN_COLOR", "auto", "auto|always|never",
            "auto follows NO_COLOR, CLICOLOR_FORCE and TERM"},
    Setting{"general.offline", T::kBool, "--offline", "QUERN_OFFLINE", "false", "", "no network access at all"},
    Setting{"general.strict_env", T::kBool, "", "QUERN_STRICT_ENV", "false", "",
            "an unknown QUERN_* variable is an error instead of a warning"},
    Setting{"general.default_model", T::kString, "", "QUERN_DEFAULT_MODEL", "", "",
            "model of `quern chat` without MODEL"},
    Setting{"general.no_history", T::kBool, "--no-history", "QUERN_NO_HISTORY", "false", "",
            "keep no history of the lines typed in chat"},
    Setting{"store.models_dir", T::kString, "--models-dir", "QUERN_MODELS_DIR", "", "",
            "model cache; empty: HF_HUB_CACHE, HF_HOME, then ~/.cache/huggingface/hub"},
    Setting{"generation.device", T::kString, "--device", "QUERN_DEVICE", "auto", "",
            "auto, cpu, cuda[:N] or metal; an explicit choice never falls back to another device"},
    Setting{"generation.threads", T::kInt, "--threads", "QUERN_THREADS", "0", "0..1024",
            "CPU threads; 0: the processors this process may use"},
    Setting{"generation.context", T::kInt, "--ctx", "QUERN_CTX", "0", "-1..16777216",
            "context in tokens; 0: min(model limit, 8192); -1 or max: the model limit"},
    Setting{"generation.kv_type", T::kEnum, "--kv-type", "QUERN_KV_TYPE", "f16", "f16|bf16|f32",
            "number format of the key/value cache"},
    Setting{"generation.numerics", T::kEnum, "--numerics", "QUERN_NUMERICS", "default", "default|exact",
            "exact: the reference arithmetic, slower"},
    Setting{"generation.memory_budget", T::kSize, "--memory-budget", "QUERN_MEMORY_BUDGET", "0", "0..1125899906842624",
            "memory the model may take (512M, 8GiB, 8GB); 0: what this process may use"},
    Setting{"generation.prefill_chunk", T::kInt, "--prefill-chunk", "QUERN_PREFILL_CHUNK", "512", "1..65536",
            "prompt tokens evaluated in one step"},
    Setting{"generation.max_tokens", T::kInt, "--max-tokens", "QUERN_MAX_TOKENS", "-1", "-1..16777216",
            "longest answer in tokens; -1: until the context ends"},
    Setting{"generation.think", T::kEnum, "--think", "QUERN_THINK", "auto", "auto|on|off",
            "thinking mode; auto is off"},
    Setting{"generation.context_policy", T::kEnum, "--context-policy", "QUERN_CONTEXT_POLICY", "trim", "trim|error",
            "chat, when the conversation outgrows the context: drop the oldest turns with a notice, or refuse"},
    Setting{"generation.show_thinking", T::kEnum, "--show-thinking", "QUERN_SHOW_THINKING", "off", "on|off|dim",
            "chat: how the thinking text is shown"},
};

}  // namespace

std::vector<Setting> Settings() { return {kSettings.begin(), kSettings.end()}; }

}  // namespace quern
