// Rows of Reshape and Flatten.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

// Divides `product` into `count` random factors.
std::vector<int64_t> DrawFactorsOf(Draw* draw, int64_t product, int64_t count) {
  std::vector<int64_t> factors;
  for (; count > 1; --count) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= product; ++d) {
      if (product % d == 0) divisors.push_back(d);
    }
    factors.push_back(draw->Of(divisors));
    product /= factors.back();
  }
  factors.push_back(product);
  return factors;
}

// Sets `shape`, which replaces the axes from `begin` on by axes of the extents `dims`. Writes some
// extents as 0 or -1.
void DrawDims(Draw* draw, const Shape& bottom, int begin, const std::vector<int64_t>& dims,
              DrawnMessage* fields) {
  std::string text;
  bool inferred = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int axis = begin + static_cast<int>(i);
    int64_t dim = dims[i];
    if (axis < bottom.rank() && bottom[axis] == dim && draw->Chance(0.5)) {
      dim = 0;
    } else if (!inferred && draw->Chance(0.4)) {
      dim = -1;
      inferred = true;
    }
    text += " dim: " + std::to_string(dim);
  }
  fields->Add("shape {" + text + " }");
}

// Reshapes a whole batch to a matrix whose rows do not belong to samples.
std::string WholeBatchReshape(Draw* draw, const Shape& bottom) {
  const std::vector<int64_t> dims = DrawFactorsOf(draw, bottom.count(1), 2);
  return "shape { dim: -1 dim: " + std::to_string(dims[1]) + " }";
}

bool DrawReshape(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Values(1);
  if (!blob) return false;
  const Shape& shape = blob->shape;
  const int rank = shape.rank();
  DrawnMessage fields(draft);
  if (rank > 1 && draw.Chance(0.08)) {
    fields.Add(WholeBatchReshape(&draw, shape));
  } else {
    // Replaces the axes [begin, end) by at most as many axes that a blob has 5.
    const int begin = static_cast<int>(draw.Int(1, rank));
    const int end = draw.Chance(0.5) ? rank : static_cast<int>(draw.Int(begin, rank));
    const int64_t most = 5 - (rank - (end - begin)), least = begin == end ? 0 : 1;
    const int64_t count = draw.Int(least, std::clamp<int64_t>(most, least, 3));
    std::vector<int64_t> dims;
    if (count > 0) dims = DrawFactorsOf(&draw, shape.count(begin, end), count);
    if (end == rank && draw.Chance(0.4)) {
      // Keeps the axes before `begin` by naming them.
      std::string kept;
      for (int axis = 0; axis < begin; ++axis) kept += " dim: 0";
      for (int64_t dim : dims) kept += " dim: " + std::to_string(dim);
      fields.Add("shape {" + kept + " }");
    } else {
      // An axis of -1 is the place behind the last axis.
      fields.Set("axis", draw.Chance(0.4) ? begin - rank - 1 : begin);
      DrawDims(&draw, shape, begin, dims, &fields);
      if (end != rank || draw.Chance(0.3)) {
        fields.Set("num_axes", end == rank && draw.Chance(0.5) ? -1 : end - begin);
      }
    }
  }
  return draft->Add(
      DrawnLayer("Reshape", {blob->name}, fields.In("reshape_param"), draw.Chance(0.1)));
}

unsigned ReshapeTraits(const LayerParameter& layer) {
  const ReshapeParameter& param = layer.reshape_param();
  const bool keeps =
      param.axis() != 0 || (param.shape().dim_size() > 0 && param.shape().dim(0) == 0);
  return WholeBatchIf(!keeps);
}

bool DrawFlatten(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = AnyDrawnValues(draft, 1);
  if (!blob) return false;
  const int rank = blob->shape.rank();
  const bool whole = rank == 1 || (blob->filter.empty() && draw.Chance(0.06));
  const int axis = whole ? 0 : static_cast<int>(draw.Int(1, rank - 1));
  DrawnMessage fields(draft);
  fields.Axis("axis", axis, rank, 1);
  if (axis == 0 && draw.Chance(0.5)) {
    fields.Set("end_axis", 0);
  } else if (axis > 0 && draw.Chance(0.5)) {
    // An end before the beginning inserts an axis.
    const int end =
        static_cast<int>(draw.Int(rank < 5 && draw.Chance(0.2) ? axis - 1 : axis, rank - 1));
    fields.Axis("end_axis", end, rank, rank - 1);
  }
  return draft->Add(
      DrawnLayer("Flatten", {blob->name}, fields.In("flatten_param"), draw.Chance(0.1)));
}

unsigned FlattenTraits(const LayerParameter& layer) {
  const FlattenParameter& param = layer.flatten_param();
  return WholeBatchIf(param.axis() == 0 && !(param.has_end_axis() && param.end_axis() == 0));
}

DOPPIO_REGISTER(LayerRows, "Reshape",
                {&DrawReshape,
                 LayerRow::kWholeBatch,
                 1,
                 {{"reshape_param.pixelshuffler", "infer refuses all values but the default"}},
                 LayerRow::kInner,
                 &ReshapeTraits});
DOPPIO_REGISTER(LayerRows, "Flatten",
                {&DrawFlatten, LayerRow::kWholeBatch, 1, {}, LayerRow::kInner, &FlattenTraits});

}  // namespace
}  // namespace doppio
