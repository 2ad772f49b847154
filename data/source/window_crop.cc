#include "data/source/window_crop.h"

#include <algorithm>
#include <cmath>

namespace doppio {
namespace {

// Clamps before rounding, so that twice the result still fits into an int. The limit is far beyond
// any image.
int Round(float value) {
  constexpr float kFar = 1e9;
  return static_cast<int>(std::round(std::clamp(value, -kFar, kFar)));
}

// A window along one axis. `first` and `last` are inclusive.
struct Span {
  int first = 0, last = 0;    // pixels of the image
  int before = 0, after = 0;  // margins of the square beyond the image
  int size = 0;               // pixels of the square between the margins
};

Span Widened(float center, float half, float context_scale, int extent, int size) {
  Span span;
  span.first = Round(center - half * context_scale);
  span.last = Round(center + half * context_scale);
  const int whole = span.last - span.first + 1;
  const int before = std::max(0, -span.first), after = std::max(0, span.last - extent + 1);
  span.first += before;
  span.last -= after;
  const float scale = static_cast<float>(size) / static_cast<float>(whole);
  span.size = Round(static_cast<float>(span.last - span.first + 1) * scale);
  span.before = Round(static_cast<float>(before) * scale);
  span.after = Round(static_cast<float>(after) * scale);
  return span;
}

}  // namespace

WindowCrop CropOf(const Window& window, int image_height, int image_width, const WindowShape& shape,
                  bool mirrored) {
  Span x{window.x1, window.x2, 0, 0, shape.size}, y{window.y1, window.y2, 0, 0, shape.size};
  if (shape.context_pad > 0 || shape.square) {
    const float context_scale =
        static_cast<float>(shape.size) / static_cast<float>(shape.size - 2 * shape.context_pad);
    float half_height = static_cast<float>(window.y2 - window.y1 + 1) / 2;
    float half_width = static_cast<float>(window.x2 - window.x1 + 1) / 2;
    const float center_x = static_cast<float>(window.x1) + half_width;
    const float center_y = static_cast<float>(window.y1) + half_height;
    if (shape.square) half_height = half_width = std::max(half_height, half_width);
    x = Widened(center_x, half_width, context_scale, image_width, shape.size);
    y = Widened(center_y, half_height, context_scale, image_height, shape.size);
  }
  WindowCrop crop;
  crop.to_left = mirrored ? x.after : x.before;
  crop.to_top = y.before;
  // The two margins and the part between them are rounded separately, so together they may exceed
  // the square.
  crop.to_width = std::min(x.size, shape.size - crop.to_left);
  crop.to_height = std::min(y.size, shape.size - crop.to_top);
  if (crop.to_width < 1 || crop.to_height < 1) return crop;
  crop.left = x.first;
  crop.top = y.first;
  crop.width = x.last - x.first + 1;
  crop.height = y.last - y.first + 1;
  return crop;
}

}  // namespace doppio
