// A table in plain text with a title row. Each column is as wide as its widest cell, and columns of
// numbers can be right-aligned.
#ifndef DOPPIO_TOOLS_CLI_TEXT_TABLE_H_
#define DOPPIO_TOOLS_CLI_TEXT_TABLE_H_

#include <cstdint>
#include <ctime>
#include <ostream>
#include <string>
#include <vector>

namespace doppio {

class TextTable {
 public:
  // A '>' at the start of a title makes its column right-aligned; it is not printed.
  explicit TextTable(const std::vector<std::string>& titles);
  // Adds a row. Missing cells are empty; extra cells are dropped.
  void Add(std::vector<std::string> cells);
  // Prints the title row and all rows, with aligned columns.
  void Print(std::ostream& out) const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns the number of terminal columns that UTF-8 text takes. Wide characters (Chinese, Japanese,
// Korean, emoji) count as two.
size_t DisplayWidth(const std::string& text);

// Formats an integer with a space every three digits: 25050 -> "25 050".
std::string Thousands(int64_t value);
// Formats a number with `digits` decimals: 3.14159, 2 -> "3.14".
std::string Fixed(double value, int digits);
// Formats a number like printf's %g: 0.000123456 -> "0.000123456", 1234567 -> "1.23457e+06".
std::string Significant(double value, int digits = 6);
// Formats a rate per second: 32787.4 -> "32787", 12.345 -> "12.3", NaN -> "–".
std::string Rate(double per_second);
// Formats a point in time in the local time zone: "2026-11-20 18:12:05".
std::string LocalTime(std::time_t time);
// Formats a number of seconds: 47163 -> "13 h 06 m", and from two days on 4585560 -> "53 days 1 h".
std::string Duration(double seconds);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_TEXT_TABLE_H_
