// A table of left-aligned columns, two spaces apart. Cells are made safe for a terminal.
#pragma once

#include <string>
#include <vector>

namespace quern::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void Add(std::vector<std::string> row);  // as many cells as the header
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace quern::cli
