// The type of a piece: its number in files, and what its spelling says. Files get the types of some pieces wrong; their
// strings do not lie. Internal to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "format/vocabulary.h"

namespace quern::format {

// How SentencePiece models and GGUF files number the types, 1 to 6. Nothing for another number.
int32_t NumberOf(PieceType type);
std::optional<PieceType> PieceTypeOfNumber(int64_t number);

// "<0x00>" to "<0xFF>" with capital digits, as SentencePiece and Hugging Face spell byte pieces.
bool IsByteName(std::string_view piece);

// The seven markers that Gemma 4 leaves visible, so that a parser of the output sees them: tool calls, tool responses,
// the quote marker and channels.
bool IsVisibleMarker(std::string_view piece);

// Mends the types of a whole vocabulary: byte names are kByte, visible markers kUserDefined, the pieces declared as
// bos, eos, eot and pad kControl (unless visible), unk kUnknown, and "</s>" kNormal unless it is one of those.
void MendTypes(Vocabulary* vocabulary);

// Corrupt when a declared id (bos, eos, eot, unk, pad, suppress) is not an id of the vocabulary.
Status CheckDeclaredIds(const Vocabulary& vocabulary);

}  // namespace quern::format
