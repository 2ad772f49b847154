// A table as plain text: columns as wide as their widest cell, a title row, numbers to the right.
#ifndef DOPPIO_TOOLS_CLI_TEXT_TABLE_H_
#define DOPPIO_TOOLS_CLI_TEXT_TABLE_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace doppio {

class TextTable {
 public:
  // A title that starts with '>' makes its column right-aligned.
  explicit TextTable(const std::vector<std::string>& titles);
  void Add(std::vector<std::string> cells);  // as many as titles
  void Print(std::ostream& out) const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// Terminal columns of UTF-8 text; letters of China, Japan and Korea take two.
size_t DisplayWidth(const std::string& text);

// 25050 -> "25 050".
std::string Thousands(int64_t value);
// 3.14159, 2 -> "3.14".
std::string Fixed(double value, int digits);
// As printf's %g: 0.000123456 -> "0.000123456", 1234567 -> "1.23457e+06".
std::string Significant(double value, int digits = 6);
// Of something in a second: 32787.4 -> "32787", 12.345 -> "12.3", NaN -> "–".
std::string Rate(double per_second);
// 47163 seconds -> "13 h 06 m".
std::string Duration(double seconds);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_TEXT_TABLE_H_
