// Rows of Permute, Crop, Reorg and ShuffleChannel.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

bool DrawPermute(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = AnyDrawnValues(draft, 2);
  if (!blob) return false;
  const int rank = blob->shape.rank();
  std::vector<int> order;
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
  // Usually keeps the batch first.
  const int fixed = draw.Chance(0.85) ? 1 : 0;
  for (int i = fixed; i < rank; ++i) std::swap(order[i], order[draw.Int(i, rank - 1)]);
  // The axes that are not named follow in their order.
  const int64_t named = draw.Chance(0.7) ? rank : draw.Int(0, rank);
  DrawnMessage fields(draft);
  for (int64_t i = 0; i < named; ++i) fields.Set("order", order[i]);
  return draft->Add(DrawnLayer("Permute", {blob->name}, fields.In("permute_param")));
}

unsigned PermuteTraits(const LayerParameter& layer) {
  const PermuteParameter& param = layer.permute_param();
  return WholeBatchIf(param.order_size() > 0 && param.order(0) != 0);
}

// Returns the first axis from which on `like` is nowhere larger than `blob`.
int FirstCroppedAxis(const Shape& blob, const Shape& like) {
  int axis = blob.rank();
  while (axis > 0 && like[axis - 1] <= blob[axis - 1]) --axis;
  return axis;
}

// Returns a blob that is smaller than `blob` along its last axes, or `blob`.
std::optional<DraftBlob> DrawCropLike(NetDraft* draft, const DraftBlob& blob) {
  const int rank = blob.shape.rank();
  const auto found = draft->Find([&](const DraftBlob& other) {
    return HasValues(other) && other.rows && other.name != blob.name &&
           other.shape.rank() == rank && FirstCroppedAxis(blob.shape, other.shape) < rank;
  });
  if (found) return found;
  if (rank != 4 || std::min(blob.shape[2], blob.shape[3]) < 2) return blob;
  return AddDrawn(draft,
                  DrawnLayer("Pooling", {blob.name}, "pooling_param { kernel_size: 2 stride: 2 }"));
}

bool DrawCrop(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draw.Chance(0.8) ? draft->Images(2) : draft->Values(2);
  if (!blob) return false;
  const auto like = DrawCropLike(draft, *blob);
  if (!like) return false;
  const Shape &from = blob->shape, &to = like->shape;
  const int rank = from.rank(), first = FirstCroppedAxis(from, to);
  int axis = static_cast<int>(draw.Int(std::max(1, first), rank - 1));
  if (first == 0 && draw.Chance(0.1)) axis = 0;
  if (axis != 2 && first <= 2 && rank > 2 && draw.Chance(0.4)) axis = 2;
  DrawnMessage fields(draft);
  fields.Axis("axis", axis, rank, 2);
  const int64_t way = draw.Int(0, 2);
  int64_t least = from[axis] - to[axis];
  for (int a = axis; a < rank; ++a) least = std::min(least, from[a] - to[a]);
  if (way == 1) fields.Set("offset", draw.Int(0, least));
  for (int a = axis; a < rank && way == 2; ++a) {
    fields.Set("offset", draw.Int(0, a == 0 ? 0 : from[a] - to[a]));
  }
  return draft->Add(DrawnLayer("Crop", {blob->name, like->name}, fields.In("crop_param")));
}

unsigned CropTraits(const LayerParameter& layer) {
  return WholeBatchIf(layer.crop_param().axis() == 0);
}

bool FitsReorg(const DraftBlob& blob, int64_t stride, bool reverse) {
  const Shape& s = blob.shape;
  return HasValues(blob) && blob.rows && s.rank() == 4 && s[1] % (stride * stride) == 0 &&
         (reverse ? std::max(s[2], s[3]) * stride <= kMostDrawnSide
                  : s[2] % stride == 0 && s[3] % stride == 0 &&
                        s.count() <= kMostDrawnValues * stride * stride);
}

// Returns images that Reorg can read, of a Convolution that gives them enough channels if
// necessary.
std::optional<DraftBlob> DrawReorgBottom(NetDraft* draft, int64_t stride, bool* reverse) {
  auto blob = draft->Find([&](const DraftBlob& b) { return FitsReorg(b, stride, *reverse); });
  if (blob) return blob;
  blob = draft->Images();
  if (!blob || std::max(blob->shape[2], blob->shape[3]) * stride > kMostDrawnSide) return {};
  *reverse = true;
  DrawnMessage fields(draft);
  fields.Set("num_output", stride * stride * draft->draw().Int(1, 2)).Set("kernel_size", 1);
  fields.Add(draft->Filler("weight_filler", 1 / std::sqrt(static_cast<double>(blob->shape[1]))));
  return AddDrawn(draft, DrawnLayer("Convolution", {blob->name}, fields.In("convolution_param")));
}

bool DrawReorg(NetDraft* draft) {
  Draw& draw = draft->draw();
  const int64_t stride = draw.Of<int64_t>({1, 2, 2, 2, 3});
  bool reverse = draw.Chance(0.5);
  const auto blob = DrawReorgBottom(draft, stride, &reverse);
  if (!blob) return false;
  DrawnMessage fields(draft);
  if (stride != 2 || draw.Chance(0.5)) fields.Set("stride", stride);
  if (reverse || draw.Chance(0.3)) fields.Set("reverse", reverse);
  return draft->Add(DrawnLayer("Reorg", {blob->name}, fields.In("reorg_param")));
}

bool DrawShuffleChannel(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Values(2);
  if (!blob) return false;
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= blob->shape[1]; ++d) {
    if (blob->shape[1] % d == 0) divisors.push_back(d);
  }
  DrawnMessage fields(draft);
  if (draw.Chance(0.9)) fields.Set("group", draw.Of(divisors));
  return draft->Add(DrawnLayer("ShuffleChannel", {blob->name}, fields.In("shuffle_channel_param")));
}

DOPPIO_REGISTER(LayerRows, "Permute",
                {&DrawPermute, LayerRow::kWholeBatch, 1, {}, LayerRow::kInner, &PermuteTraits});
DOPPIO_REGISTER(LayerRows, "Crop",
                {&DrawCrop, LayerRow::kWholeBatch, 1, {}, LayerRow::kInner, &CropTraits});
DOPPIO_REGISTER(LayerRows, "Reorg", {&DrawReorg, 0, 0.5});
DOPPIO_REGISTER(LayerRows, "ShuffleChannel", {&DrawShuffleChannel, 0, 0.5});

}  // namespace
}  // namespace doppio
