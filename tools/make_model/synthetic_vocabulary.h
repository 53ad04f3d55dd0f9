// A made-up vocabulary with the shape of the published Gemma 4 one: 262,144 entries and 514,906 merges, control and
// visible tokens, newline runs and byte tokens at the published ids. Lower-case English splits into pieces of up to
// four letters.
#pragma once

#include "format/vocabulary.h"

namespace quern::tools {

format::Vocabulary MakeSyntheticVocabulary();

}  // namespace quern::tools
