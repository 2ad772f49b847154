#include "layers/detection/anchors.h"

#include <cmath>
#include <cstdlib>
#include <regex>

#include "core/base/text/nearest.h"

namespace doppio {
namespace {

const std::vector<std::string>& AnchorKeys() {
  static const auto* keys =
      new std::vector<std::string>{"feat_stride", "base_size", "ratios", "scales", "num_classes"};
  return *keys;
}

constexpr BoxCode kRegionCode = {BoxCodeType::kCenterSize, true};
constexpr Box kNoVariance = {1, 1, 1, 1};

// Reads four numbers from a field of proposal_target_param. Leaves `box` as it is if the field is
// not set.
template <class Field>
void ReadFourNumbers(const LayerSpec& spec, const std::string& name, const Field& field, Box* box) {
  spec.RefuseIf(field.size() != 0 && field.size() != 4, "proposal_target_param." + name, name,
                " is given ", field.size(), " times; give it 4 times, for x, y, width and height");
  for (int i = 0; i < field.size(); ++i) (*box)[i] = static_cast<double>(field.Get(i));
}

}  // namespace

Box AnchorGrid::At(int64_t i) const {
  const int64_t position = i / per_position();
  const int64_t row = position / columns, column = position % columns;
  const double x = static_cast<double>(column) * stride, y = static_cast<double>(row) * stride;
  const Box& box = at_origin[i % per_position()];
  return {box[0] + x, box[1] + y, box[2] + x, box[3] + y};
}

std::vector<Box> MakeAnchors(double base_size, const std::vector<double>& ratios,
                             const std::vector<double>& scales) {
  std::vector<Box> anchors;
  const double center = (base_size - 1) / 2;
  for (double ratio : ratios) {
    // nearbyint rounds halves to the even number, as NumPy does.
    const double width = std::nearbyint(std::sqrt(base_size * base_size / ratio));
    const double height = std::nearbyint(width * ratio);
    for (double scale : scales) {
      const double x = (width * scale - 1) / 2, y = (height * scale - 1) / 2;
      anchors.push_back({center - x, center - y, center + x, center + y});
    }
  }
  return anchors;
}

Box EncodeRegion(const Box& anchor, const Box& object) {
  return kRegionCode.Encode(Exclusive(anchor), kNoVariance, Exclusive(object));
}

Box DecodeRegion(const Box& anchor, const Box& code) {
  return kRegionCode.Decode(Exclusive(anchor), kNoVariance, code);
}

NearestObject FindNearest(const Box& box, const std::vector<Box>& objects) {
  NearestObject nearest;
  for (size_t i = 0; i < objects.size(); ++i) {
    const double overlap = Overlap(Exclusive(box), Exclusive(objects[i]));
    if (i != 0 && !(overlap > nearest.overlap)) continue;
    nearest = {static_cast<int>(i), overlap};
  }
  return nearest;
}

void KeepRandom(int64_t count, const Random& random, uint64_t sample, uint64_t first,
                std::vector<int>* items) {
  const int64_t size = static_cast<int64_t>(items->size());
  if (size <= count) return;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t left = static_cast<uint32_t>(size - i);
    const int64_t other = i + random.Below(left, sample, first + static_cast<uint64_t>(i));
    std::swap((*items)[i], (*items)[other]);
  }
  items->resize(count);
}

std::vector<double> ReadParamStr(const LayerSpec& spec, const std::string& key,
                                 const std::vector<std::string>& known) {
  const std::string path = "python_param.param_str";
  const std::string& text = spec.param.python_param().param_str();
  static const auto* pair =
      new std::regex(R"re(['"]?(\w+)['"]?\s*:\s*(?:!!\S+\s*)?(\[[^\]]*\]|\([^)]*\)|[^\s,}]+))re");
  static const auto* number = new std::regex(R"re([^\s,\[\]()]+)re");
  std::vector<double> values;
  for (std::sregex_iterator i(text.begin(), text.end(), *pair), end; i != end; ++i) {
    const std::string name = (*i)[1], list = (*i)[2];
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw spec.Mistake(path, StrCat("param_str has '", name, "', which ", spec.type(),
                                      " does not read", DidYouMean(name, known)));
    }
    if (name != key) continue;
    for (std::sregex_iterator v(list.begin(), list.end(), *number); v != end; ++v) {
      const std::string word = v->str();
      char* rest = nullptr;
      const double value = std::strtod(word.c_str(), &rest);
      spec.RefuseIf(*rest != '\0' || !(value > 0) || std::isinf(value), path, name,
                    " in param_str is ", word, "; give positive numbers");
      values.push_back(value);
    }
  }
  return values;
}

std::vector<double> ReadAnchorNumbers(const LayerSpec& spec, const std::string& path,
                                      const std::string& field, const std::string& key,
                                      std::vector<double> given,
                                      const std::vector<double>& defaults) {
  std::vector<double> overriding = ReadParamStr(spec, key, AnchorKeys());
  if (!overriding.empty()) return overriding;
  for (size_t i = 0; i < given.size(); ++i) {
    spec.RefuseIf(!(given[i] > 0), {path + field, static_cast<int>(i)}, field, " is ", given[i],
                  "; give a positive number");
  }
  return given.empty() ? defaults : given;
}

void CheckNumbers(const LayerSpec& spec, const std::vector<Shape>& bottoms, int i, int64_t width,
                  const std::string& what) {
  spec.RefuseIf(!(bottoms[i].rank() >= 1 && bottoms[i].count() == bottoms[i][0] * width),
                {"bottom", i}, "bottom '", spec.param.bottom(i), "' is ", bottoms[i].ToString(),
                "; each row must have ", width, " numbers: ", what);
}

double ReadFraction(const LayerSpec& spec, const std::string& path, const std::string& field,
                    double value) {
  if (value > 0 && value <= 1) return value;
  throw spec.Mistake(path + field,
                     StrCat(field, " is ", value, "; give a number above 0 and at most 1"));
}

void ReadTargetScale(const LayerSpec& spec, Box* mean, Box* deviation) {
  const ProposalTargetParameter& p = spec.param.proposal_target_param();
  *mean = {0, 0, 0, 0};
  *deviation = {0.1, 0.1, 0.2, 0.2};
  ReadFourNumbers(spec, "bbox_mean", p.bbox_mean(), mean);
  ReadFourNumbers(spec, "bbox_std", p.bbox_std(), deviation);
  for (double value : *deviation) {
    spec.RefuseIf(!(value > 0), "proposal_target_param.bbox_std", "bbox_std must be positive");
  }
}

}  // namespace doppio
