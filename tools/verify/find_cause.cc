#include "tools/verify/find_cause.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "core/base/file.h"
#include "tools/cli/text_table.h"

namespace doppio {
namespace {

// Returns the message of a layer's settings without its fillers, as text.
std::string SettingsOf(const LayerParameter& layer) {
  using Fields = std::vector<const google::protobuf::FieldDescriptor*>;
  Fields fields;
  layer.GetReflection()->ListFields(layer, &fields);
  std::string text;
  for (const auto* field : fields) {
    if (!EndsWith(field->name(), "_param") || field->is_repeated()) continue;
    const auto& message = layer.GetReflection()->GetMessage(layer, field);
    const std::unique_ptr<google::protobuf::Message> copy(message.New());
    copy->CopyFrom(message);
    Fields inner;
    copy->GetReflection()->ListFields(*copy, &inner);
    for (const auto* one : inner) {
      if (EndsWith(one->name(), "_filler")) copy->GetReflection()->ClearField(copy.get(), one);
    }
    text += (text.empty() ? "" : " ") + copy->ShortDebugString();
  }
  return "{ " + text + " }";
}

std::string SettingsText(const LayerParameter& a, const LayerParameter& b, bool statistics) {
  const float eps_a = a.batch_norm_param().eps(), eps_b = b.batch_norm_param().eps();
  if (statistics && eps_a != eps_b)
    return "epsilon is " + Significant(static_cast<double>(eps_a)) + " and " +
           Significant(static_cast<double>(eps_b));
  const std::string of_a = SettingsOf(a), of_b = SettingsOf(b);
  return of_a == of_b ? "" : "the settings are " + of_a + " and " + of_b;
}

// Tells windows that one form rounds up and the other down from other differences of sizes.
std::string SizesText(const Shape& a, const Shape& b) {
  bool by_one = a.rank() == b.rank() && a.rank() > 2;
  for (int axis = 2; by_one && axis < a.rank(); ++axis) by_one = std::abs(a[axis] - b[axis]) < 2;
  return by_one ? "the windows are rounded up in one form and down in the other (ceil_mode, "
                  "round_mode), or the padding differs by one"
                : "padding, stride or size of the windows differ";
}

// Returns true if values differ, but only at most `width` elements from the borders of images.
bool OnlyAtBorder(const PlainBlob& a, const PlainBlob& b, double limit) {
  if (a.shape.rank() != 4) return false;
  const int64_t height = a.shape[2], width = a.shape[3];
  const int64_t border = std::min<int64_t>(3, (std::min(height, width) - 1) / 2);
  bool any = false;
  for (size_t i = 0; i < a.data.size(); ++i) {
    if (!(std::abs(static_cast<double>(a.data[i]) - static_cast<double>(b.data[i])) > limit))
      continue;
    any = true;
    const int64_t x = static_cast<int64_t>(i) % width, y = static_cast<int64_t>(i) / width % height;
    if (std::min({x, y, width - 1 - x, height - 1 - y}) >= border) return false;
  }
  return any;
}

// Explains the difference by b = factor * a + constant with numbers of each channel, by least
// squares. Returns "" if these lines leave more than `limit` on average.
std::string ChannelsText(const PlainBlob& a, const PlainBlob& b, bool statistics, double limit) {
  struct Sums {
    double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  };
  const int64_t inner = a.shape.count(2), rows = a.shape[0] * inner;
  if (rows < 4) return "";  // few values fit any line
  std::vector<Sums> channels(static_cast<size_t>(a.shape[1]));
  for (size_t i = 0; i < a.data.size(); ++i) {
    Sums& sums = channels[static_cast<int64_t>(i) / inner % a.shape[1]];
    const auto x = static_cast<double>(a.data[i]), y = static_cast<double>(b.data[i]);
    sums = {sums.x + x, sums.y + y, sums.xx + x * x, sums.xy + x * y, sums.yy + y * y};
  }
  const auto n = static_cast<double>(rows);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double least = kInfinity, most = -kInfinity, constant = 0, left = 0;
  for (const Sums& s : channels) {
    const double spread = s.xx - s.x * s.x / n;
    const double factor = spread > 1e-12 * s.xx ? (s.xy - s.x * s.y / n) / spread : 1;
    least = std::min(least, factor);
    most = std::max(most, factor);
    constant = std::max(constant, std::abs(s.y - factor * s.x) / n);
    left = std::max(left, (s.yy - s.y * s.y / n - factor * factor * spread) / n);
  }
  const bool scaled = most > 1 + 1e-5 || least<1 - 1e-5, moved = constant> limit;
  if (!(left <= limit * limit) || !(scaled || moved)) return "";
  std::string text;
  if (scaled)
    text = "a factor for each channel, from " + Significant(least, 4) + " to " +
           Significant(most, 4) + (moved ? ", and " : "");
  if (moved) text += "a constant for each channel, up to " + Significant(constant, 4);
  return "the difference is " + text +
         (!scaled      ? ": a bias or a mean"
          : statistics ? ": epsilon, or the factor of BatchNorm's statistics"
                       : ": scales, or BatchNorm in one of the forms");
}

}  // namespace

std::vector<std::string> FindCauses(const Comparison& comparison, const PointPair& first,
                                    const std::vector<ArrayDifference>& weights, double tolerance) {
  std::vector<std::string> causes;
  const auto index = static_cast<int>(&first - comparison.pairs().data());
  bool factor = true;
  int statistics = 0;
  for (const ArrayDifference& array : weights) {
    if (array.pair != index || array.values.relative() <= tolerance) continue;
    causes.push_back(array.role + ": " + array.text);
    const bool running = array.role.rfind("running_", 0) == 0;
    statistics += running;
    factor = factor && running && array.text.rfind("all values", 0) == 0;
  }
  if (factor && statistics == 2)
    causes.push_back(
        "mean and variance are larger by one factor: that of BatchNorm (its third "
        "blob) differs or is ignored");
  const FormPoint &a = comparison.a().points[first.a], &b = comparison.b().points[first.b];
  // Only BatchNorm stores sums.
  const bool of_norm = a.node >= 0 && comparison.a().runnable.nodes[a.node].type->sums_weight >= 0;
  // Forms spell equal settings in several ways, so these only tell something without another cause.
  if (causes.empty() && a.node >= 0 && b.node >= 0 && a.type == b.type) {
    const std::string text = SettingsText(comparison.a().runnable.layer(a.node).param,
                                          comparison.b().runnable.layer(b.node).param, of_norm);
    if (!text.empty()) causes.push_back(text);
  }
  const PlainBlob& of_a = comparison.first_of_a()[first.a];
  const PlainBlob& of_b = comparison.first_of_b()[first.b];
  if (!first.unlike.empty()) {
    causes.push_back(SizesText(of_a.shape, of_b.shape));
  } else {
    const double limit = tolerance * first.values.largest;
    const std::string text = of_a.shape.rank() < 2 || of_a.data.size() != of_b.data.size() ? ""
                             : OnlyAtBorder(of_a, of_b, limit)
                                 ? "only values at the borders of the image differ: padding"
                                 : ChannelsText(of_a, of_b, of_norm, limit);
    if (!text.empty()) causes.push_back(text);
  }
  return causes;
}

}  // namespace doppio
