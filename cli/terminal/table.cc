#include "cli/terminal/table.h"

#include <algorithm>

#include "cli/terminal/unicode.h"

namespace quern::cli {

Table::Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

void Table::Add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = Visible(cell);
  row.resize(rows_.front().size());
  rows_.push_back(std::move(row));
}

std::string Table::Text() const {
  std::vector<int> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += FitColumns(row[i], widths[i]) + "  ";
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace quern::cli
