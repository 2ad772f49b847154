// How the ten digits are written: pen strokes through a few points, in a unit box with y downwards.
// A pure table; digits.cc bends and draws it.
#ifndef DOPPIO_DATA_SOURCE_DIGITS_STROKES_H_
#define DOPPIO_DATA_SOURCE_DIGITS_STROKES_H_

#include <vector>

namespace doppio {

struct Point {
  float x, y;
};
using Stroke = std::vector<Point>;  // a smooth curve through the points; two points are a line
using Glyph = std::vector<Stroke>;

// The ways in which people write `digit`, at least one.
const std::vector<Glyph>& GlyphsOf(int digit);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_DIGITS_STROKES_H_
