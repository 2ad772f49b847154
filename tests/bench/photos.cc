#include "tests/bench/photos.h"

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "core/base/error.h"
#include "core/base/random.h"
#include "data/decode/encode.h"

namespace doppio {
namespace {

constexpr int kHeight = 375, kWidth = 500;

// Adds smooth noise: random values on a grid of `cell` pixels, interpolated.
void AddNoise(int cell, float amplitude, const Random& random, uint64_t key,
              std::vector<float>* plane) {
  const int columns = kWidth / cell + 2;
  std::vector<float> grid(static_cast<size_t>(columns * (kHeight / cell + 2)));
  for (size_t i = 0; i < grid.size(); ++i) grid[i] = amplitude * (2 * random.Uniform(key, i) - 1);
  for (int y = 0; y < kHeight; ++y) {
    const float* above = &grid[static_cast<size_t>(y / cell * columns)];
    const float* below = above + columns;
    const float dy = static_cast<float>(y % cell) / static_cast<float>(cell);
    for (int x = 0; x < kWidth; ++x) {
      const int i = x / cell;
      const float dx = static_cast<float>(x % cell) / static_cast<float>(cell);
      (*plane)[static_cast<size_t>(y * kWidth + x)] +=
          (above[i] * (1 - dx) + above[i + 1] * dx) * (1 - dy) +
          (below[i] * (1 - dx) + below[i + 1] * dx) * dy;
    }
  }
}

// Returns an image that costs a decoder as much as a photograph: finer structures have smaller
// amplitudes, and colours vary less than brightness.
Image DrawPhoto(uint64_t number) {
  const Random random(7, number);
  std::vector<float> light(size_t{kHeight} * kWidth, 128), warm(light.size()), cold(light.size());
  const struct {
    int cell;
    float amplitude;
  } kOctaves[] = {{128, 70}, {64, 50}, {32, 36}, {16, 26}, {8, 18}, {4, 12}, {2, 8}, {1, 4}};
  uint64_t key = 0;
  for (const auto& octave : kOctaves) {
    AddNoise(octave.cell, octave.amplitude, random, key++, &light);
    AddNoise(octave.cell, 0.4f * octave.amplitude, random, key++, &warm);
    AddNoise(octave.cell, 0.4f * octave.amplitude, random, key++, &cold);
  }
  const auto byte = [](float v) { return static_cast<uint8_t>(std::clamp(v, 0.0f, 255.0f)); };
  Image photo;
  photo.shape = {3, kHeight, kWidth};
  for (size_t i = 0; i < light.size(); ++i) {
    photo.bytes.push_back(byte(light[i] + cold[i]));
    photo.bytes.push_back(byte(light[i] - 0.3f * (warm[i] + cold[i])));
    photo.bytes.push_back(byte(light[i] + warm[i]));
  }
  return photo;
}

}  // namespace

Photos DrawPhotos(const std::string& folder, int count) {
  Photos photos;
  photos.list = folder + "/list.txt";
  std::ofstream list(photos.list);
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    photos.paths.push_back(folder + "/" + std::to_string(i) + ".jpg");
    const std::string file = Encode(DrawPhoto(static_cast<uint64_t>(i)), ImageFormat::kJpeg, 90);
    bytes += file.size();
    std::ofstream out(photos.paths.back(), std::ios::binary);
    if (!(out << file).flush()) throw FileError(photos.paths.back() + ": cannot be written");
    list << photos.paths.back() << " " << i % 10 << "\n";
  }
  photos.mean_bytes = count > 0 ? bytes / static_cast<size_t>(count) : 0;
  return photos;
}

}  // namespace doppio
