// A generated data set of digits that look handwritten, 28x28 pixels each, for a first training run
// without any files. Each image is a pure function of (seed, part, index). A variant of the digit
// is chosen, bent by a smooth random field, slanted, rotated, stretched and moved. A pen of random
// width and pressure draws it, and noise is added. The train and test parts use different random
// streams.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/base/random.h"
#include "data/source/digits_strokes.h"
#include "data/source/source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

constexpr int kSide = 28;
constexpr float kTau = 6.28318531f;

// The sequence of random numbers of one image. Bits() starts at counter 2^20, so that its words
// differ from those that the other methods use.
class DigitDraws {
 public:
  DigitDraws(const Random& random, int64_t index)
      : random_(random), index_(static_cast<uint64_t>(index)) {}
  float Between(float low, float high) {
    return low + (high - low) * random_.Uniform(index_, next_++);
  }
  float Normal(float sigma) { return sigma * random_.Normal(index_, next_++); }
  uint32_t Below(uint32_t n) { return random_.Below(n, index_, next_++); }
  Random4 Bits() { return random_.At(index_, (1u << 20) + next_++); }

 private:
  const Random& random_;
  uint64_t index_;
  uint64_t next_ = 0;
};

// Maps points of the unit box to pixels: a smooth bend, then an affine map about the centre.
class Hand {
 public:
  explicit Hand(DigitDraws* draws) {
    for (Wave& wave : waves_) {
      wave = {draws->Between(-5.0f, 5.0f), draws->Between(-5.0f, 5.0f), draws->Between(0, kTau),
              draws->Normal(0.042f), draws->Normal(0.042f)};
    }
    const float turn = draws->Normal(0.19f), slant = 0.12f + draws->Normal(0.22f);
    const float width = 17.5f * std::exp(draws->Normal(0.16f));
    const float height = 19.5f * std::exp(draws->Normal(0.1f));
    const float c = std::cos(turn), s = std::sin(turn);
    // The product of the matrices of rotation, slant and stretch.
    xx_ = c * width;
    xy_ = (-c * slant - s) * height;
    yx_ = s * width;
    yy_ = (-s * slant + c) * height;
    x0_ = 0.5f * kSide + draws->Normal(1.3f);
    y0_ = 0.5f * kSide + draws->Normal(1.3f);
  }

  Point operator()(Point p) const {
    float x = p.x - 0.5f, y = p.y - 0.5f;
    float dx = 0, dy = 0;
    for (const Wave& wave : waves_) {
      const float height = std::sin(wave.kx * x + wave.ky * y + wave.phase);
      dx += wave.dx * height;
      dy += wave.dy * height;
    }
    x += dx;
    y += dy;
    return {x0_ + xx_ * x + xy_ * y, y0_ + yx_ * x + yy_ * y};
  }

 private:
  struct Wave {
    float kx, ky, phase, dx, dy;
  };
  std::array<Wave, 3> waves_;
  float xx_, xy_, yx_, yy_, x0_, y0_;
};

class Canvas {
 public:
  Canvas() { distance_.fill(1e9f); }

  // Draws a line: lowers each pixel's squared distance to the nearest stroke, up to `reach` pixels
  // from the line.
  void Line(Point a, Point b, float reach) {
    const float dx = b.x - a.x, dy = b.y - a.y;
    const float length2 = std::max(dx * dx + dy * dy, 1e-6f);
    const int x0 = Pixel(std::min(a.x, b.x) - reach), x1 = Pixel(std::max(a.x, b.x) + reach);
    const int y0 = Pixel(std::min(a.y, b.y) - reach), y1 = Pixel(std::max(a.y, b.y) + reach);
    for (int y = y0; y <= y1; ++y) {
      for (int x = x0; x <= x1; ++x) {
        const float px = static_cast<float>(x) + 0.5f - a.x,
                    py = static_cast<float>(y) + 0.5f - a.y;
        const float t = std::clamp((px * dx + py * dy) / length2, 0.0f, 1.0f);
        const float ex = px - t * dx, ey = py - t * dy;
        float& d = distance_[static_cast<size_t>(y * kSide + x)];
        d = std::min(d, ex * ex + ey * ey);
      }
    }
  }

  // Fills pixels with ink where the distance is below `radius`, fading over `softness` pixels on
  // each side of the edge.
  void Ink(float radius, float softness, float pressure,
           std::array<float, kSide * kSide>* ink) const {
    for (size_t i = 0; i < distance_.size(); ++i) {
      const float inside = (radius + softness - std::sqrt(distance_[i])) / (2 * softness);
      const float t = std::clamp(inside, 0.0f, 1.0f);
      (*ink)[i] = pressure * t * t * (3 - 2 * t);
    }
  }

 private:
  static int Pixel(float v) { return std::clamp(static_cast<int>(std::floor(v)), 0, kSide - 1); }

  std::array<float, kSide * kSide> distance_;
};

// Draws a Catmull-Rom spline, a smooth curve through the points, as short lines.
void DrawStroke(const Stroke& stroke, float reach, Canvas* canvas) {
  constexpr int kPieces = 6;
  const size_t last = stroke.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    const Point p0 = stroke[i > 0 ? i - 1 : 0], p1 = stroke[i];
    const Point p2 = stroke[i + 1], p3 = stroke[std::min(i + 2, last)];
    Point from = p1;
    for (int piece = 1; piece <= kPieces; ++piece) {
      const float t = static_cast<float>(piece) / kPieces;
      auto at = [t](float a, float b, float c, float d) {
        return b + 0.5f * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
      };
      const Point to{at(p0.x, p1.x, p2.x, p3.x), at(p0.y, p1.y, p2.y, p3.y)};
      canvas->Line(from, to, reach);
      from = to;
    }
  }
}

void DrawDigit(int digit, DigitDraws* draws, uint8_t* pixels) {
  const std::vector<Glyph>& glyphs = GlyphsOf(digit);
  const Glyph& glyph = glyphs[draws->Below(static_cast<uint32_t>(glyphs.size()))];
  const Hand hand(draws);
  const float radius = draws->Between(0.6f, 1.8f), softness = draws->Between(0.5f, 1.0f);
  const float pressure = draws->Between(0.75f, 1.1f);
  Canvas canvas;
  for (const Stroke& stroke : glyph) {
    Stroke drawn;
    for (size_t i = 0; i < stroke.size(); ++i) {
      Point p = hand(stroke[i]);
      // Strokes still have to meet at their ends; each point in between moves a little by itself.
      if (i > 0 && i + 1 < stroke.size())
        p = {p.x + draws->Normal(0.4f), p.y + draws->Normal(0.4f)};
      drawn.push_back(p);
    }
    DrawStroke(drawn, radius + softness, &canvas);
  }
  std::array<float, kSide * kSide> ink;
  canvas.Ink(radius, softness, pressure, &ink);
  const float grain = draws->Between(0.0f, 0.2f);
  for (size_t i = 0; i < ink.size(); i += 4) {
    const Random4 noise = draws->Bits();
    for (size_t k = 0; k < 4; ++k) {
      const float value = ink[i + k] + grain * (2 * ToUnit(noise.v[k]) - 1);
      pixels[i + k] = static_cast<uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255.0f + 0.5f);
    }
  }
}

class DigitsSource : public Source {
 public:
  DigitsSource(const DataParameter& parameter, Phase phase)
      : test_(parameter.has_part() ? parameter.part() == DataParameter::TEST : phase == TEST),
        size_(parameter.size() > 0 ? parameter.size()
              : test_              ? 10000
                                   : 60000),
        random_(parameter.seed(), Stream("digits", test_ ? "test" : "train")) {}

  int64_t size() const override { return size_; }

  void Read(int64_t index, Record* record) const override {
    DigitDraws draws(random_, index);
    const int digit = static_cast<int>(draws.Below(10));
    record->byte_storage.resize(kSide * kSide);
    auto* pixels = reinterpret_cast<uint8_t*>(&record->byte_storage[0]);
    DrawDigit(digit, &draws, pixels);
    record->pixels = {{1, kSide, kSide}, pixels, nullptr, false};
    record->encoded = nullptr;
    record->labels.assign(1, static_cast<float>(digit));
  }

  std::string Name(int64_t index) const override {
    return std::string("generated digit ") + std::to_string(index) +
           (test_ ? " (test)" : " (train)");
  }

 private:
  const bool test_;
  const int64_t size_;
  const Random random_;
};

std::unique_ptr<Source> OpenDigits(const DataParameter& parameter, Phase phase) {
  return std::make_unique<DigitsSource>(parameter, phase);
}

DOPPIO_REGISTER(Sources, "DIGITS", &OpenDigits);

}  // namespace
}  // namespace doppio
