// Writing a vocabulary: into GGUF metadata, or as the tokenizer files of a Hugging Face folder. The inverse of the
// readers of vocabulary.h.
#pragma once

#include <filesystem>

#include "base/status.h"
#include "format/gguf_writer.h"
#include "format/vocabulary.h"

namespace quern::format {

// tokenizer.ggml.* and tokenizer.chat_template, as llama.cpp's converter writes them: model "gemma4" with merges
// (scores are -1000 there and mean nothing), or model "llama" with scores. A kViterbi vocabulary is Unsupported.
Status WriteGgufVocabulary(const Vocabulary& vocabulary, GgufWriter* writer);

// tokenizer.json for kBpe, tokenizer.model for kUnigram, and tokenizer_config.json, into an existing folder.
// Of a piece that occurs twice the later id is kept, as encoders do. A kViterbi vocabulary is Unsupported.
Status WriteHfVocabulary(const Vocabulary& vocabulary, const std::filesystem::path& folder);

}  // namespace quern::format
