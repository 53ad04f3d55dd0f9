// GgufReader: the bytes of one GGUF file (or of one part of a split one) to a GgufFile. See gguf.h for what is
// accepted. Internal to the room.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/byte_reader.h"
#include "format/gguf.h"

namespace quern::format {

class GgufReader {
 public:
  // Tensors and array strings of the result point into `bytes`; its table holds no file. Split keys are kept.
  static Result<GgufFile> Read(std::span<const std::byte> bytes);

  // Takes the tensors of a further part over. A name that occurs in both is Corrupt.
  static Status AddPart(GgufFile part, GgufFile* whole);
  static void HoldFile(std::shared_ptr<const MappedFile> file, GgufFile* gguf);
  static void DropSplitKeys(GgufFile* gguf);

 private:
  // A tensor as the header declares it, before its bytes have been checked.
  struct Declared {
    std::string_view name;
    TensorView view;
    uint64_t offset = 0;  // from the start of the data section
    uint64_t num_bytes = 0;
  };

  explicit GgufReader(std::span<const std::byte> bytes) : bytes_(bytes), reader_(bytes) {}

  Status ReadHeader();
  Status ReadMetadata();
  Status ReadAlignment();
  Result<GgufValue> ReadValue();
  template <typename Stored, typename Wide>
  Result<GgufValue> ReadScalar(GgufType type);
  template <typename Stored, typename Wide>
  Status ReadNumbers(uint64_t count, GgufValue* value);
  Result<GgufValue> ReadArray();
  Status ReadBools(uint64_t count, GgufValue* value);
  Status ReadStrings(uint64_t count, GgufValue* value);

  Result<Declared> ReadTensorInfo();
  Status ReadShape(Declared* tensor);
  Status PlaceTensors(std::vector<Declared> tensors);
  // The next string, which must be 1 to kMaxNameBytes bytes of printable ASCII; `field` says what it names.
  Result<std::string_view> ReadName(std::string_view field);
  tl::unexpected<Error> Truncated(std::string_view field) const;

  std::span<const std::byte> bytes_;
  ByteReader reader_;
  uint64_t num_tensors_ = 0;
  uint64_t num_keys_ = 0;
  uint64_t array_elems_ = 0;  // of all arrays so far
  GgufFile file_;
};

}  // namespace quern::format
