// Shapes of the ten handwritten digits, as pen strokes through a few points in a unit box whose y
// axis points down. This file is only a table; digits.cc distorts and draws the strokes.
#ifndef DOPPIO_DATA_SOURCE_DIGITS_STROKES_H_
#define DOPPIO_DATA_SOURCE_DIGITS_STROKES_H_

#include <vector>

namespace doppio {

struct Point {
  float x, y;
};
using Stroke =
    // A smooth curve through the points; two points make a straight line.
    std::vector<Point>;
using Glyph = std::vector<Stroke>;

// Returns the variants in which people write `digit` (0 to 9), at least one.
const std::vector<Glyph>& GlyphsOf(int digit);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_DIGITS_STROKES_H_
