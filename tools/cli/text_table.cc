#include "tools/cli/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <utility>

namespace doppio {
namespace {

// Replaces control characters by '?', so that a cell stays in its row and a file name cannot send
// control sequences to the terminal.
std::string OnOneLine(std::string text) {
  const auto steers = [](char c) { return (static_cast<unsigned char>(c) < ' ') || c == 127; };
  std::replace_if(text.begin(), text.end(), steers, '?');
  return text;
}

// Returns true for code points that take two columns: the wide blocks of Unicode's East Asian Width
// (UAX 11) and emoji.
bool IsWide(uint32_t letter) {
  constexpr std::pair<uint32_t, uint32_t> kWide[] = {
      {0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xA960, 0xA97F}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
      {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
  return std::any_of(std::begin(kWide), std::end(kWide), [letter](const auto& block) {
    return block.first <= letter && letter <= block.second;
  });
}

}  // namespace

TextTable::TextTable(const std::vector<std::string>& titles) {
  std::vector<std::string> cells;
  for (const std::string& title : titles) {
    right_.push_back(!title.empty() && title[0] == '>');
    cells.push_back(OnOneLine(right_.back() ? title.substr(1) : title));
  }
  rows_.push_back(std::move(cells));
}

void TextTable::Add(std::vector<std::string> cells) {
  cells.resize(right_.size());
  for (std::string& cell : cells) cell = OnOneLine(std::move(cell));
  rows_.push_back(std::move(cells));
}

void TextTable::Print(std::ostream& out) const {
  std::vector<size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - DisplayWidth(row[i]), ' ');
      line += (i == 0 ? " " : "  ") + (right_[i] ? space + row[i] : row[i] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

size_t DisplayWidth(const std::string& text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    // Lead bytes 110xxxxx, 1110xxxx and 11110xxx begin a sequence of 2, 3 and 4 bytes; bytes
    // 10xxxxxx continue it.
    const int lead_bits = first < 0x80 ? 7 : first < 0xE0 ? 5 : first < 0xF0 ? 4 : 3;
    uint32_t letter = first & ((1U << lead_bits) - 1);
    for (; i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; ++i)
      letter = letter << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
    width += IsWide(letter) ? 2 : 1;
  }
  return width;
}

std::string Thousands(int64_t value) {
  std::string digits = std::to_string(value);
  const int64_t first = value < 0 ? 1 : 0;
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > first; i -= 3) {
    digits.insert(static_cast<size_t>(i), " ");
  }
  return digits;
}

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::string Significant(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

std::string Rate(double per_second) {
  if (std::isnan(per_second)) return "–";
  return per_second >= 100 ? Fixed(per_second, 0) : Significant(per_second, 3);
}

std::string LocalTime(std::time_t time) {
  std::tm local{};
  localtime_r(&time, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string Duration(double seconds) {
  if (seconds < 1) return Fixed(seconds * 1e3, 0) + " ms";
  const int64_t s = static_cast<int64_t>(std::llround(seconds));
  if (s < 60) return std::to_string(s) + " s";
  constexpr int64_t kHour = 3600, kDay = 24 * kHour;
  if (s >= 2 * kDay)
    return std::to_string(s / kDay) + " days " + std::to_string(s % kDay / kHour) + " h";
  const int64_t large = s < kHour ? s / 60 : s / kHour, small = s < kHour ? s % 60 : s / 60 % 60;
  return std::to_string(large) + (s < kHour ? " m " : " h ") + (small < 10 ? "0" : "") +
         std::to_string(small) + (s < kHour ? " s" : " m");
}

}  // namespace doppio
