#include "data/annotation/scaled_sides.h"

#include <algorithm>
#include <cmath>

namespace doppio {

ScaledSides ScaleBy(int height, int width, double scale) {
  const auto side = [scale](int pixels) {
    return std::max(1, static_cast<int>(std::nearbyint(pixels * scale)));
  };
  return {side(height), side(width), scale};
}

ScaledSides ScaleShortSide(int height, int width, int short_side, int max_side) {
  const double least = std::min(height, width), most = std::max(height, width);
  const double scale = short_side / least;
  const bool too_long = std::nearbyint(scale * most) > max_side;
  return ScaleBy(height, width, too_long ? max_side / most : scale);
}

}  // namespace doppio
