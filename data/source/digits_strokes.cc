#include "data/source/digits_strokes.h"

#include <array>
#include <sstream>

namespace doppio {
namespace {

struct GlyphRow {
  int digit;
  // The points "x,y" of each stroke, in hundredths of the box. A bar separates strokes.
  const char* strokes;
};

// A comment says how a glyph differs from the one above it.
constexpr GlyphRow kGlyphs[] = {
    {0, "55,4 24,22 20,65 48,96 78,70 78,28 55,4"},
    {0, "62,2 30,16 18,55 38,94 74,80 82,36 50,10 34,14"},  // open at the top, ends crossing
    {1, "55,3 50,50 46,97"},
    {1, "30,26 42,17 56,3 | 56,3 54,97"},          // with a flag
    {1, "32,22 54,3 | 54,3 53,96 | 30,96 76,95"},  // with a flag and a foot
    {2, "20,24 45,4 76,22 60,56 18,94 | 18,94 50,90 84,93"},
    {2, "22,22 50,4 74,26 54,66 24,92 16,80 34,76 58,90 86,90"},  // with a loop at the foot
    {3, "22,14 52,4 74,22 42,47 | 42,47 74,58 72,86 44,97 18,84"},
    {3, "22,6 74,6 | 74,6 44,40 | 44,40 74,52 76,82 46,97 18,86"},  // flat at the top
    {4, "30,6 24,30 20,56 | 20,56 82,52 | 68,4 64,50 62,97"},
    {4, "60,4 14,66 | 14,66 84,64 | 60,4 60,97"},           // closed at the top
    {4, "28,5 22,42 42,56 70,44 76,6 | 76,6 70,55 66,97"},  // in one go, rounded
    {5, "76,6 30,7 | 30,7 26,44 | 26,44 58,40 78,66 56,94 18,88"},
    {5, "78,5 42,8 30,30 56,48 72,74 46,96 20,86"},  // in one go, rounded
    {6, "68,3 34,30 22,68 46,96 74,76 58,54 26,68"},
    {6, "50,3 30,40 24,76 48,97 70,82 50,66 27,82"},  // straight, with a small bowl
    {7, "18,9 80,6 | 80,6 58,44 42,97"},
    {7, "18,9 80,6 | 80,6 60,44 44,97 | 34,52 74,48"},       // with a bar
    {7, "20,24 22,8 | 22,8 50,12 80,7 | 80,7 60,40 54,97"},  // with a serif and a bent stem
    {8, "70,14 42,6 30,26 56,50 72,76 46,96 26,76 50,50 74,26 70,14"},
    {8, "50,46 28,26 50,4 72,26 50,46 | 50,46 22,72 50,96 78,72 50,46"},  // two rings
    {9, "74,20 48,4 24,28 44,50 72,32 74,20 | 74,20 70,60 62,97"},
    {9, "74,24 50,4 26,26 46,48 74,24 | 74,24 74,66 52,96 24,88"},  // with a curved tail
};

Glyph GlyphFrom(const char* strokes) {
  std::istringstream words(strokes);
  Glyph glyph(1);
  for (std::string word; words >> word;) {
    if (word == "|") {
      glyph.emplace_back();
      continue;
    }
    const float x = std::stof(word), y = std::stof(word.substr(word.find(',') + 1));
    glyph.back().push_back({x / 100, y / 100});
  }
  return glyph;
}

}  // namespace

const std::vector<Glyph>& GlyphsOf(int digit) {
  static const auto* glyphs = [] {
    auto* all = new std::array<std::vector<Glyph>, 10>;
    for (const GlyphRow& row : kGlyphs) (*all)[row.digit].push_back(GlyphFrom(row.strokes));
    return all;
  }();
  return (*glyphs)[digit];
}

}  // namespace doppio
