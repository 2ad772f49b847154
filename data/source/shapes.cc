// A generated data set for detection: colour images with one to four shapes and their boxes. Each
// image is a pure function of (seed, part, index). A background of a colour gradient and two waves
// is drawn, then the shapes one after the other, then noise. The train and test parts use different
// random streams.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/random.h"
#include "data/record/draws.h"
#include "data/record/source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

constexpr int kColors = 3;  // blue, green, red
constexpr int kLeastShapesSide = 32, kMostShapesSide = 1024;
constexpr int kMostShapes = 4;
constexpr float kHalfTurn = 3.14159265f;

using ShapeColor = std::array<float, kColors>;  // from 0 to 255

struct Corner {
  float x, y;
};
using Outline = std::vector<Corner>;  // of a polygon

// Returns a polygon whose corners have the given distances from the origin in turn.
Outline Spokes(int corners, float first, float second) {
  Outline outline;
  for (int i = 0; i < corners; ++i) {
    const float angle = 2 * kHalfTurn * static_cast<float>(i) / static_cast<float>(corners);
    const float radius = i % 2 == 0 ? first : second;
    outline.push_back({radius * std::sin(angle), -radius * std::cos(angle)});
  }
  return outline;
}

struct ShapeClass {
  const char* name;
  Outline (*outline)();
};

// The index is the label; 0 is the background, as in SSD.
constexpr std::array<ShapeClass, 6> kShapeClasses = {{
    {"background", nullptr},
    {"circle", [] { return Spokes(48, 1, 1); }},
    {"square",
     [] {
       return Outline{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
     }},
    {"triangle",
     [] {
       return Outline{{0, -1}, {1, 0.75f}, {-1, 0.75f}};
     }},
    {"cross",
     [] {
       constexpr float t = 0.36f;
       return Outline{{-t, -1}, {t, -1}, {t, -t}, {1, -t}, {1, t},   {t, t},
                      {t, 1},   {-t, 1}, {-t, t}, {-1, t}, {-1, -t}, {-t, -t}};
     }},
    {"star", [] { return Spokes(10, 1, 0.42f); }},
}};

// Returns the smallest box around the outline.
Box Around(const Outline& outline) {
  Box box{INFINITY, INFINITY, -INFINITY, -INFINITY};
  for (const Corner& corner : outline) {
    box.xmin = std::min(box.xmin, corner.x);
    box.ymin = std::min(box.ymin, corner.y);
    box.xmax = std::max(box.xmax, corner.x);
    box.ymax = std::max(box.ymax, corner.y);
  }
  return box;
}

// Draws on planes of side x side pixels.
class ShapeCanvas {
 public:
  ShapeCanvas(int side, std::vector<float>* planes) : side_(side), planes_(*planes) {
    planes_.resize(int64_t{kColors} * side * side);
  }

  // Sets pixel (x, y) to the colour that color(x, y) returns.
  template <class F>
  void Paint(const F& color) {
    for (int y = 0; y < side_; ++y) {
      for (int x = 0; x < side_; ++x) Blend(x, y, 1, color(Middle(x), Middle(y)));
    }
  }

  // Fills a polygon, whose corners are in pixels. A pixel at the edge is a mixture.
  void Fill(const Outline& outline, const ShapeColor& color) {
    const Box box = Around(outline);
    std::vector<float> cover(side_);
    for (int y = Pixel(box.ymin); y <= Pixel(box.ymax); ++y) {
      std::fill(cover.begin(), cover.end(), 0.0f);
      for (int line = 0; line < kLines; ++line) {
        const float at = static_cast<float>(y) + (static_cast<float>(line) + 0.5f) / kLines;
        AddCover(outline, at, &cover);
      }
      for (int x = Pixel(box.xmin); x <= Pixel(box.xmax); ++x) Blend(x, y, cover[x], color);
    }
  }

  // Writes the pixels, changed by noise of up to `grain`, as bytes.
  void Finish(float grain, Draws* draws, uint8_t* bytes) const {
    constexpr size_t kBytes = 16;  // of a draw: a byte decides the noise of a pixel
    for (size_t i = 0; i < planes_.size(); i += kBytes) {
      const Random4 noise = draws->Bits();
      const size_t count = std::min(kBytes, planes_.size() - i);
      for (size_t k = 0; k < count; ++k) {
        const auto drawn = static_cast<float>(noise.v[k / 4] >> (k % 4 * 8) & 255);
        const float value = planes_[i + k] + grain * (drawn / 127.5f - 1);
        bytes[i + k] = static_cast<uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f));
      }
    }
  }

 private:
  static constexpr int kLines = 4;  // in a row of pixels; each decides what the polygon covers

  static float Middle(int pixel) { return static_cast<float>(pixel) + 0.5f; }
  int Pixel(float v) const { return std::clamp(static_cast<int>(v), 0, side_ - 1); }

  void Blend(int x, int y, float share, const ShapeColor& color) {
    for (int c = 0; c < kColors; ++c) {
      float& value = planes_[(int64_t{c} * side_ + y) * side_ + x];
      value += share * (color[c] - value);
    }
  }

  // Adds to `cover` what lies inside the polygon on the horizontal line at `y`.
  void AddCover(const Outline& outline, float y, std::vector<float>* cover) const {
    std::vector<float> crossings;
    for (size_t i = 0; i < outline.size(); ++i) {
      const Corner a = outline[i], b = outline[(i + 1) % outline.size()];
      if ((a.y <= y) == (b.y <= y)) continue;
      crossings.push_back(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x));
    }
    std::sort(crossings.begin(), crossings.end());
    for (size_t i = 0; i + 1 < crossings.size(); i += 2) {
      const float from = crossings[i], to = crossings[i + 1];
      for (int x = Pixel(from); x <= Pixel(to); ++x) {
        const auto left = static_cast<float>(x);
        const float inside = std::min(to, left + 1) - std::max(from, left);
        (*cover)[x] += std::max(0.0f, inside) / kLines;
      }
    }
  }

  const int side_;
  std::vector<float>& planes_;
};

ShapeColor DrawColor(Draws* draws) {
  return {draws->Uniform(0, 255), draws->Uniform(0, 255), draws->Uniform(0, 255)};
}

// A gradient between two colours, and waves over it.
class Background {
 public:
  Background(int side, Draws* draws) : first_(DrawColor(draws)), second_(DrawColor(draws)) {
    const float angle = draws->Uniform(0, 2 * kHalfTurn);
    across_ = std::cos(angle) / static_cast<float>(side);
    down_ = std::sin(angle) / static_cast<float>(side);
    middle_ = 0.5f * static_cast<float>(side);
    for (Wave& wave : waves_) {
      const float periods = draws->Uniform(3, 20), to = draws->Uniform(0, 2 * kHalfTurn);
      const float frequency = 2 * kHalfTurn * periods / static_cast<float>(side);
      wave = {frequency * std::cos(to), frequency * std::sin(to), draws->Uniform(0, 2 * kHalfTurn),
              draws->Uniform(0, 22)};
    }
  }

  // Returns the colour of the gradient alone.
  ShapeColor Gradient(float x, float y) const {
    const float along = 0.5f + 0.7f * (across_ * (x - middle_) + down_ * (y - middle_));
    ShapeColor color;
    for (int c = 0; c < kColors; ++c) color[c] = first_[c] + along * (second_[c] - first_[c]);
    return color;
  }

  ShapeColor operator()(float x, float y) const {
    ShapeColor color = Gradient(x, y);
    for (const Wave& wave : waves_) {
      const float height = wave.height * std::sin(wave.kx * x + wave.ky * y + wave.phase);
      for (float& value : color) value += height;
    }
    return color;
  }

 private:
  struct Wave {
    float kx, ky, phase, height;
  };
  const ShapeColor first_, second_;
  float across_, down_, middle_;
  std::array<Wave, 2> waves_;
};

// Returns a colour that differs clearly from `behind`.
ShapeColor DrawContrast(const ShapeColor& behind, Draws* draws) {
  constexpr float kContrast = 80;
  constexpr int kTrials = 16;  // nearly always enough
  ShapeColor color;
  for (int trial = 0; trial < kTrials; ++trial) {
    color = DrawColor(draws);
    for (int c = 0; c < kColors; ++c) {
      if (std::abs(color[c] - behind[c]) >= kContrast) return color;
    }
  }
  return color;
}

// Returns the polygon of the shape class `label`, randomly rotated, stretched, scaled and placed
// inside the image.
Outline DrawOutline(int label, int side, Draws* draws) {
  const float turn = draws->Uniform(-0.4f, 0.4f), stretch = draws->Uniform(0.75f, 1.33f);
  const float c = std::cos(turn), s = std::sin(turn);
  Outline outline = kShapeClasses[label].outline();
  for (Corner& corner : outline) {
    const float x = corner.x * stretch, y = corner.y;
    corner = {c * x - s * y, s * x + c * y};
  }
  const Box box = Around(outline);
  const float pixels = static_cast<float>(side) * draws->Uniform(0.15f, 0.42f);
  const float scale = pixels / std::max(box.width(), box.height());
  const float edge = 0.01f * static_cast<float>(side);
  const auto begin = [&](float length) {
    return draws->Uniform(edge, static_cast<float>(side) - edge - scale * length);
  };
  const float left = begin(box.width()), top = begin(box.height());
  for (Corner& corner : outline) {
    corner = {left + scale * (corner.x - box.xmin), top + scale * (corner.y - box.ymin)};
  }
  return outline;
}

// Returns true if `box` and one of the objects' boxes overlap by more than a little.
bool Covers(const Box& box, const std::vector<ObjectBox>& objects) {
  constexpr float kLittle = 0.1f;
  return std::any_of(objects.begin(), objects.end(), [&box](const ObjectBox& object) {
    return CoverageOf(box, object.box) > kLittle || CoverageOf(object.box, box) > kLittle;
  });
}

// Draws a shape where it hides little of the others. Draws nothing if no such place is found.
void DrawShape(int side, const Background& background, Draws* draws, ShapeCanvas* canvas,
               std::vector<ObjectBox>* objects) {
  constexpr int kPlaces = 20;
  const int label = 1 + draws->Below(static_cast<int>(kShapeClasses.size()) - 1);
  for (int place = 0; place < kPlaces; ++place) {
    const Outline outline = DrawOutline(label, side, draws);
    const Box pixels = Around(outline);
    const auto unit = static_cast<float>(side);
    const Box box{pixels.xmin / unit, pixels.ymin / unit, pixels.xmax / unit, pixels.ymax / unit};
    if (Covers(box, *objects)) continue;
    const ShapeColor behind =
        background.Gradient(0.5f * (pixels.xmin + pixels.xmax), 0.5f * (pixels.ymin + pixels.ymax));
    canvas->Fill(outline, DrawContrast(behind, draws));
    const auto instance = static_cast<float>(objects->size());
    objects->push_back({box, static_cast<float>(label), instance, false});
    return;
  }
}

// Returns the side of the images in pixels. Throws UserError.
int SideOfShapes(const DataParameter& parameter) {
  const uint32_t side = parameter.shapes_size();
  if (side >= kLeastShapesSide && side <= kMostShapesSide) return static_cast<int>(side);
  throw UserError({}, "data_param: shapes_size is ", side, "; images have from ", kLeastShapesSide,
                  " to ", kMostShapesSide, " pixels along a side");
}

class ShapesSource : public Source {
 public:
  ShapesSource(const DataParameter& parameter, Phase phase)
      : test_(parameter.has_part() ? parameter.part() == DataParameter::TEST : phase == TEST),
        side_(SideOfShapes(parameter)),
        size_(parameter.size() > 0 ? parameter.size()
              : test_              ? 1000
                                   : 10000),
        random_(parameter.seed(), Stream("shapes", test_ ? "test" : "train")) {}

  int64_t size() const override { return size_; }
  bool decodes() const override { return true; }  // drawing is as slow as decoding

  void Read(int64_t index, Record* record) const override {
    Draws draws(random_, static_cast<uint64_t>(index));
    ShapeCanvas canvas(side_, &record->float_storage);
    const Background background(side_, &draws);
    canvas.Paint(background);
    record->objects.clear();
    for (int shapes = 1 + draws.Below(kMostShapes); shapes > 0; --shapes)
      DrawShape(side_, background, &draws, &canvas, &record->objects);
    record->byte_storage.resize(record->float_storage.size());
    auto* bytes = reinterpret_cast<uint8_t*>(&record->byte_storage[0]);
    canvas.Finish(draws.Uniform(2, 14), &draws, bytes);
    record->pixels = {{kColors, side_, side_}, bytes, nullptr, false};
    record->encoded = nullptr;
    record->annotated = true;
    const auto largest = std::max_element(
        record->objects.begin(), record->objects.end(),
        [](const ObjectBox& a, const ObjectBox& b) { return a.box.area() < b.box.area(); });
    record->labels.assign(1, largest->label);
  }

  std::string Name(int64_t index) const override {
    return StrCat("generated shapes ", index, test_ ? " (test)" : " (train)");
  }

  SourceFacts facts() const override {
    SourceFacts facts;
    facts.channels = Preprocessing::BGR;
    for (const ShapeClass& shape : kShapeClasses) facts.class_names.push_back(shape.name);
    return facts;
  }

 private:
  const bool test_;
  const int side_;
  const int64_t size_;
  const Random random_;
};

DeclaredFacts DeclareShapes(const DataParameter& parameter) {
  const int side = SideOfShapes(parameter);
  DeclaredFacts declared;
  declared.facts.image = {kColors, side, side};
  declared.facts.channels = Preprocessing::BGR;
  return declared;
}

DOPPIO_REGISTER(Sources, "SHAPES", {&OpenAs<ShapesSource>, false, &DeclareShapes});

}  // namespace
}  // namespace doppio
