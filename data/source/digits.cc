// A generated data set of digits that look handwritten, 28x28 pixels each, for a first training run
// without any files. Each image is a pure function of (seed, part, index). A variant of the digit
// is chosen, bent by a smooth random field, slanted, rotated, stretched and moved. A pen of random
// width and pressure draws it, and noise is added. The train and test parts use different random
// streams.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "core/base/random.h"
#include "data/record/draws.h"
#include "data/record/source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

constexpr int kSide = 28;
constexpr float kTau = 6.28318531f;

struct Point {
  float x, y;
};
using Stroke = std::vector<Point>;  // a smooth curve through the points; two make a straight line
using Glyph = std::vector<Stroke>;  // in a unit box whose y axis points down

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

// Returns the variants in which people write `digit` (0 to 9), at least one.
const std::vector<Glyph>& GlyphsOf(int digit) {
  static const auto* glyphs = [] {
    auto* all = new std::array<std::vector<Glyph>, 10>;
    for (const GlyphRow& row : kGlyphs) (*all)[row.digit].push_back(GlyphFrom(row.strokes));
    return all;
  }();
  return (*glyphs)[digit];
}

// Maps points of the unit box to pixels: a smooth bend, then an affine map about the centre.
class Hand {
 public:
  explicit Hand(Draws* draws) {
    for (Wave& wave : waves_) {
      wave = {draws->Uniform(-5.0f, 5.0f), draws->Uniform(-5.0f, 5.0f), draws->Uniform(0, kTau),
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
        float& d = distance_[y * kSide + x];
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

void DrawDigit(int digit, Draws* draws, uint8_t* pixels) {
  const std::vector<Glyph>& glyphs = GlyphsOf(digit);
  const Glyph& glyph = glyphs[draws->Below(static_cast<int>(glyphs.size()))];
  const Hand hand(draws);
  const float radius = draws->Uniform(0.6f, 1.8f), softness = draws->Uniform(0.5f, 1.0f);
  const float pressure = draws->Uniform(0.75f, 1.1f);
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
  const float grain = draws->Uniform(0.0f, 0.2f);
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
    Draws draws(random_, static_cast<uint64_t>(index));
    const int digit = draws.Below(10);
    record->byte_storage.resize(kSide * kSide);
    auto* pixels = reinterpret_cast<uint8_t*>(&record->byte_storage[0]);
    DrawDigit(digit, &draws, pixels);
    record->pixels = {{1, kSide, kSide}, pixels, nullptr, false};
    record->encoded = nullptr;
    record->labels.assign(1, static_cast<float>(digit));
  }

  std::string Name(int64_t index) const override {
    return StrCat("generated digit ", index, test_ ? " (test)" : " (train)");
  }

 private:
  const bool test_;
  const int64_t size_;
  const Random random_;
};

DeclaredFacts DeclareDigits(const DataParameter&) {
  DeclaredFacts declared;
  declared.facts.image = {1, kSide, kSide};
  return declared;
}

DOPPIO_REGISTER(Sources, "DIGITS", {&OpenAs<DigitsSource>, false, &DeclareDigits});

}  // namespace
}  // namespace doppio
