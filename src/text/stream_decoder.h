// StreamDecoder: token bytes in, complete UTF-8 out. Bytes that may still become a character are held back; bytes that
// cannot are replaced by U+FFFD (one per maximal ill-formed subpart, as Unicode recommends). One per stream, one
// thread.
#pragma once

#include <string>
#include <string_view>

namespace quern::text {

class StreamDecoder {
 public:
  // Returns the text that has become complete.
  std::string Push(std::string_view bytes);
  // End of the stream: what is held back becomes U+FFFD.
  std::string Flush();

 private:
  std::string pending_;  // at most 3 bytes
};

// The same for bytes that are all there: equal to any sequence of Push and a Flush.
std::string RepairUtf8(std::string_view bytes);

}  // namespace quern::text
