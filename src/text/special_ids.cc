#include "text/special_ids.h"

#include <algorithm>

namespace quern::text {
namespace {

constexpr SpecialName kNames[] = {
    {"<bos>", &SpecialIds::bos},
    {"<eos>", &SpecialIds::eos},
    {"<unk>", &SpecialIds::unk},
    {"<pad>", &SpecialIds::pad},
    {"<mask>", &SpecialIds::mask},
    {"<|turn>", &SpecialIds::turn_open},
    {"<turn|>", &SpecialIds::turn_close},
    {"<|channel>", &SpecialIds::channel_open},
    {"<channel|>", &SpecialIds::channel_close},
    {"<|think|>", &SpecialIds::think},
    {"<|tool>", &SpecialIds::tool_open},
    {"<tool|>", &SpecialIds::tool_close},
    {"<|tool_call>", &SpecialIds::tool_call_open},
    {"<tool_call|>", &SpecialIds::tool_call_close},
    {"<|tool_response>", &SpecialIds::tool_response_open},
    {"<tool_response|>", &SpecialIds::tool_response_close},
    {"<|\"|>", &SpecialIds::quote},
    {"<|image|>", &SpecialIds::image},
    {"<|audio|>", &SpecialIds::audio},
    {"<|video|>", &SpecialIds::video},
    {"<start_of_turn>", &SpecialIds::start_of_turn},
    {"<end_of_turn>", &SpecialIds::end_of_turn},
};

constexpr std::string_view kUnnamed[] = {"<|image>",         "<image|>",       "<|audio>",          "<audio|>",
                                         "<start_of_image>", "<end_of_image>", "<image_soft_token>"};

}  // namespace

std::span<const SpecialName> SpecialNames() { return kNames; }

bool IsMarkerName(std::string_view piece) {
  return std::ranges::find(kNames, piece, &SpecialName::piece) != std::end(kNames) ||
         std::ranges::find(kUnnamed, piece) != std::end(kUnnamed);
}

}  // namespace quern::text
