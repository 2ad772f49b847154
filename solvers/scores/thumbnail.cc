#include "solvers/scores/thumbnail.h"

#include <algorithm>
#include <cmath>

#include "core/base/channel_scale.h"

namespace doppio {
namespace {

// Returns the pixels' values before the mean and the scale: from 0 to 255.
std::vector<float> PixelsOf(const float* values, const Shape& shape,
                            const std::optional<Preprocessing>& preprocessing) {
  const int64_t count = shape.count(1), plane = shape.count(2);
  std::vector<float> pixels(values, values + count);
  if (!preprocessing || preprocessing->scale() == 0) {
    const auto [low, high] = std::minmax_element(pixels.begin(), pixels.end());
    const float floor = *low, range = std::max(1e-20f, *high - *low);
    for (float& pixel : pixels) pixel = 255 * (pixel - floor) / range;
    return pixels;
  }
  const Preprocessing& known = *preprocessing;
  const ChannelScale scale(known);
  for (int64_t i = 0; i < count; ++i) {
    float mean = 0;
    if (known.mean_image_size() == count) {
      mean = known.mean_image(static_cast<int>(i));
    } else if (known.mean_size() > 0) {
      mean = known.mean(static_cast<int>(std::min<int64_t>(i / plane, known.mean_size() - 1)));
    }
    pixels[i] = pixels[i] / scale.Of(static_cast<int>(i / plane)) + mean;
  }
  return pixels;
}

}  // namespace

Thumbnail MakeThumbnail(const float* values, const Shape& shape,
                        const std::optional<Preprocessing>& preprocessing) {
  const std::vector<float> pixels = PixelsOf(values, shape, preprocessing);
  const int64_t channels = shape[1], height = shape[2], width = shape[3];
  // Each pixel is the mean of a square of this many of the image's pixels per side.
  const int64_t step =
      std::max<int64_t>(1, (std::max(height, width) + Thumbnail::kSide - 1) / Thumbnail::kSide);
  Thumbnail made;
  made.channels = static_cast<int32_t>(channels);
  made.height = static_cast<int32_t>(std::max<int64_t>(1, height / step));
  made.width = static_cast<int32_t>(std::max<int64_t>(1, width / step));
  const bool rgb = preprocessing && preprocessing->channels() == Preprocessing::RGB;
  uint8_t* to = made.bytes;
  for (int64_t y = 0; y < made.height; ++y) {
    for (int64_t x = 0; x < made.width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        int64_t added = 0;
        for (int64_t v = y * step; v < std::min((y + 1) * step, height); ++v) {
          for (int64_t u = x * step; u < std::min((x + 1) * step, width); ++u, ++added) {
            const int64_t channel = rgb ? channels - 1 - c : c;
            sum += static_cast<double>(pixels[(channel * height + v) * width + u]);
          }
        }
        const double mean = sum / static_cast<double>(std::max<int64_t>(1, added));
        // The condition is also false for NaN.
        *to++ = static_cast<uint8_t>(mean > 0 ? std::lround(std::min(mean, 255.0)) : 0);
      }
    }
  }
  return made;
}

}  // namespace doppio
