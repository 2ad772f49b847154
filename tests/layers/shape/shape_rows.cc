// Rows of the layers that join, cut, repeat, reduce or only rename their bottoms.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

// Returns an axis of the blob, the first with probability `first` or if there is no other. Blobs
// must have an axis.
int DrawAnyAxis(Draw* draw, const DraftBlob& blob, double first = 0.08) {
  const int rank = blob.shape.rank();
  if (rank == 1 || (blob.filter.empty() && draw->Chance(first))) return 0;
  return static_cast<int>(draw->Int(1, rank - 1));
}

// Sets the axis by its field or by its old name, whose default is 1, too.
void DrawJoinedAxis(Draw* draw, const std::string& old_name, int axis, int rank,
                    DrawnMessage* fields) {
  if (draw->Chance(0.2)) {
    fields->Set(old_name, axis);
  } else {
    fields->Axis("axis", axis, rank, 1);
  }
}

// Returns another blob of values that may differ from `blob` along `axis` only, or `blob`.
DraftBlob DrawPart(NetDraft* draft, const DraftBlob& blob, int axis) {
  const auto other = draft->Find([&](const DraftBlob& b) {
    if (!HasValues(b) || b.name == blob.name || b.shape.rank() != blob.shape.rank()) return false;
    if (b.rows != blob.rows && axis != 0) return false;
    Shape shape = b.shape;
    shape[axis] = blob.shape[axis];
    return shape == blob.shape;
  });
  return other ? *other : blob;
}

bool DrawConcat(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto first = AnyDrawnValues(draft, 1);
  if (!first) return false;
  const int rank = first->shape.rank(), axis = DrawAnyAxis(&draw, *first);
  std::vector<std::string> bottoms = {first->name};
  int64_t values = first->shape.count();
  for (int64_t more = draw.Of<int64_t>({0, 1, 1, 1, 2, 3}); more > 0; --more) {
    const DraftBlob part = DrawPart(draft, *first, axis);
    values += part.shape.count();
    if (values > kMostDrawnValues) break;
    bottoms.push_back(part.name);
  }
  DrawnMessage fields(draft);
  DrawJoinedAxis(&draw, "concat_dim", axis, rank, &fields);
  fields.Maybe("engine", ForkEngines()).MaybeBool("per_fla_fuse");
  return draft->Add(DrawnLayer("Concat", bottoms, fields.In("concat_param")));
}

unsigned ConcatTraits(const LayerParameter& layer) {
  const ConcatParameter& param = layer.concat_param();
  return WholeBatchIf(param.has_axis() ? param.axis() == 0 : param.concat_dim() == 0);
}

bool DrawSlice(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = AnyDrawnValues(draft, 1);
  if (!blob) return false;
  const int rank = blob->shape.rank(), axis = DrawAnyAxis(&draw, *blob);
  // Both phases must be able to cut a batch. The extents of other blobs without rows may depend on
  // the batch, too.
  const bool varies = (axis == 0 || !blob->rows) && !HasOneBatchSize(*draft);
  const int64_t extent =
      varies ? std::min(draft->test_batch(), blob->shape[axis]) : blob->shape[axis];
  DrawnMessage fields(draft);
  DrawJoinedAxis(&draw, "slice_dim", axis, rank, &fields);
  NetDraft::Layer layer = DrawnLayer("Slice", {blob->name});
  layer.tops = static_cast<int>(draw.Int(1, std::min<int64_t>(4, extent)));
  const bool equal = !varies && extent % layer.tops == 0 && draw.Chance(0.5);
  for (int64_t top = 1, point = 0; top < layer.tops && !equal; ++top) {
    point = draw.Int(point + 1, extent - layer.tops + top);
    fields.Set("slice_point", point);
  }
  layer.fields = fields.In("slice_param");
  return draft->Add(layer);
}

unsigned SliceTraits(const LayerParameter& layer) {
  const SliceParameter& param = layer.slice_param();
  return WholeBatchIf(param.has_axis() ? param.axis() == 0 : param.slice_dim() == 0);
}

// Splits values or labels.
bool DrawSplit(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draw.Chance(0.8) ? AnyDrawnValues(draft) : draft->Find([](const DraftBlob& b) {
    return b.kind == BlobKind::kLabels;
  });
  if (!blob) return false;
  NetDraft::Layer layer = DrawnLayer(
      "Split", {blob->name}, DrawnMessage(draft).Maybe("engine", ForkEngines()).In("split_param"));
  layer.tops = static_cast<int>(draw.Int(1, 3));
  layer.kinds.assign(static_cast<size_t>(layer.tops), blob->kind);
  layer.classes = blob->classes;
  return draft->Add(layer);
}

// Takes blobs that have no use, or that other layers read.
bool DrawSilence(NetDraft* draft) {
  std::vector<std::string> bottoms;
  for (int64_t left = draft->draw().Int(1, 3); left > 0; --left) {
    const auto blob = draft->Find([&](const DraftBlob& b) {
      const bool taken = std::find(bottoms.begin(), bottoms.end(), b.name) != bottoms.end();
      return !taken && !b.score && (b.read || b.kind == BlobKind::kOther);
    });
    if (blob) bottoms.push_back(blob->name);
  }
  if (bottoms.empty()) return false;
  NetDraft::Layer layer = DrawnLayer("Silence", bottoms);
  layer.tops = 0;
  return draft->Add(layer);
}

bool DrawTile(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = AnyDrawnValues(draft, 1);
  if (!blob) return false;
  const int rank = blob->shape.rank();
  const int64_t most = std::max<int64_t>(1, kMostDrawnValues / blob->shape.count());
  const std::string fields = DrawnMessage(draft)
                                 .Axis("axis", DrawAnyAxis(&draw, *blob), rank, 1)
                                 .Set("tiles", std::min(most, draw.Of<int64_t>({1, 2, 2, 3, 5, 7})))
                                 .In("tile_param");
  return draft->Add(DrawnLayer("Tile", {blob->name}, fields));
}

unsigned TileTraits(const LayerParameter& layer) {
  return WholeBatchIf(layer.tile_param().axis() == 0);
}

bool DrawReduction(NetDraft* draft) {
  Draw& draw = draft->draw();
  auto blob = AnyDrawnValues(draft, 1);
  if (!blob) return false;
  const std::string operation = draw.Of<std::string>({"SUM", "ASUM", "SUMSQ", "MEAN"});
  // Squares of squares would grow.
  if (operation == "SUMSQ") blob = Squashed(draft, *blob);
  if (!blob) return false;
  const int rank = blob->shape.rank(), axis = DrawAnyAxis(&draw, *blob, 0.12);
  DrawnMessage fields(draft);
  if (operation != "SUM" || draw.Chance(0.5)) fields.Set("operation", operation);
  fields.Axis("axis", axis, rank, 0);
  const double count = static_cast<double>(blob->shape.count(axis));
  if (operation == "MEAN") {
    fields.MaybeReal("coeff", -2, 2);
  } else if (count > 9 || draw.Chance(0.3)) {
    const double sign = draw.Chance(0.2) ? -1 : 1;
    fields.Set("coeff", sign * draw.Real(0.5, 2) / count);
  }
  return draft->Add(DrawnLayer("Reduction", {blob->name}, fields.In("reduction_param")));
}

unsigned ReductionTraits(const LayerParameter& layer) {
  const ReductionParameter& param = layer.reduction_param();
  const bool kinks = param.operation() == ReductionParameter::ASUM;
  return (kinks ? unsigned{LayerRow::kKinks} : 0u) | WholeBatchIf(param.axis() == 0);
}

DOPPIO_REGISTER(LayerRows, "Concat",
                {&DrawConcat, LayerRow::kWholeBatch, 2, {}, LayerRow::kInner, &ConcatTraits});
DOPPIO_REGISTER(LayerRows, "Slice",
                {&DrawSlice, LayerRow::kWholeBatch, 1, {}, LayerRow::kInner, &SliceTraits});
DOPPIO_REGISTER(LayerRows, "Split", {&DrawSplit, 0, 0.5});
DOPPIO_REGISTER(LayerRows, "Silence", {&DrawSilence, 0, 0.3});
DOPPIO_REGISTER(LayerRows, "Tile",
                {&DrawTile, LayerRow::kWholeBatch, 0.5, {}, LayerRow::kInner, &TileTraits});
DOPPIO_REGISTER(LayerRows, "Reduction",
                {&DrawReduction,
                 LayerRow::kWholeBatch | LayerRow::kKinks,
                 0.7,
                 {},
                 LayerRow::kInner,
                 &ReductionTraits});

}  // namespace
}  // namespace doppio
