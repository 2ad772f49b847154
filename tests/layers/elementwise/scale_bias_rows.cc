// Rows of Scale and Bias.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

// Draws `axis` and `num_axes` of factors that are parameters of a layer behind `blob`.
void DrawFactorAxes(NetDraft* draft, const DraftBlob& blob, DrawnMessage* fields) {
  Draw& draw = draft->draw();
  const int rank = blob.shape.rank();
  if (rank == 1 || (blob.filter.empty() && draw.Chance(0.2))) {
    // Either one factor for all values, or, rarely, one for each row of a batch.
    fields->Set("axis", 0);
    const bool rows = HasOneBatchSize(*draft) && draw.Chance(0.2);
    fields->Set("num_axes", rows ? draw.Int(1, rank) : 0);
    return;
  }
  const int axis = static_cast<int>(draw.Int(1, rank - 1));
  fields->Axis("axis", axis, rank, 1);
  const int64_t axes = draw.Int(0, rank - axis);
  if (axes != 1 || draw.Chance(0.5)) {
    fields->Set("num_axes", axes == rank - axis && draw.Chance(0.5) ? -1 : axes);
  }
}

// Returns the first axis at which the extents of `part` occur in `whole`, or -1. A blob with rows
// fits only where the rows are.
int FittingAxis(const DraftBlob& whole, const DraftBlob& part) {
  const int rank = part.shape.rank();
  if (part.rows && rank > 0 && !whole.rows) return -1;
  for (int axis = part.rows || rank == 0 ? 0 : 1; axis + rank <= whole.shape.rank(); ++axis) {
    const auto begin = whole.shape.dims().begin() + axis;
    if (std::equal(begin, begin + rank, part.shape.dims().begin())) return axis;
    if (part.rows) return -1;
  }
  return -1;
}

// Adds a Scale or Bias of two blobs. `learned` are the fields of parameters that it still has.
bool AddOfTwo(NetDraft* draft, const std::string& type, const std::string& message,
              const std::string& learned) {
  // Behind a Filter, the factors would have to be behind it, too.
  const auto blob =
      draft->Find([](const DraftBlob& b) { return HasValues(b) && b.rows && b.filter.empty(); });
  if (!blob) return false;
  auto factors = draft->Find([&](const DraftBlob& other) {
    return HasValues(other) && other.name != blob->name && FittingAxis(*blob, other) >= 0;
  });
  if (!factors) factors = blob;
  const int axis = FittingAxis(*blob, *factors);
  if (type == "Scale") factors = Squashed(draft, *factors);
  if (!factors) return false;
  DrawnMessage fields(draft);
  fields.Axis("axis", axis, blob->shape.rank(), 1);
  // Summands that are parameters have the shape of the factors, which may include the batch.
  if (HasOneBatchSize(*draft) || factors->shape.rank() == 0 || axis > 0) fields.Add(learned);
  return draft->Add(
      DrawnLayer(type, {blob->name, factors->name}, fields.In(message), draft->draw().Chance(0.3)));
}

// Adds a Scale or Bias whose factors are parameters.
bool AddOfOne(NetDraft* draft, const std::string& type, const std::string& message,
              const std::string& fillers) {
  const auto blob = draft->Values(1);
  if (!blob) return false;
  DrawnMessage fields(draft);
  DrawFactorAxes(draft, *blob, &fields);
  return draft->Add(
      DrawnLayer(type, {blob->name}, fields.Add(fillers).In(message), draft->draw().Chance(0.4)));
}

bool DrawScaleLayer(NetDraft* draft) {
  DrawnMessage bias(draft);
  bias.MaybeBool("bias_term").MaybeFiller("bias_filler", 0.1);
  if (draft->draw().Chance(0.3)) return AddOfTwo(draft, "Scale", "scale_param", bias.fields());
  return AddOfOne(draft, "Scale", "scale_param",
                  DrawnMessage(draft).MaybeFactors("filler", 1).Add(bias.fields()).fields());
}

bool DrawBiasLayer(NetDraft* draft) {
  if (draft->draw().Chance(0.3)) return AddOfTwo(draft, "Bias", "bias_param", "");
  return AddOfOne(draft, "Bias", "bias_param",
                  DrawnMessage(draft).MaybeFiller("filler", 0.1).fields());
}

// Parameters belong to single rows of the batch if they run along the first axis. With two bottoms,
// only a bias_term is a parameter.
unsigned ScaleTraits(const LayerParameter& layer) {
  const ScaleParameter& param = layer.scale_param();
  const bool learns = layer.bottom_size() == 1 ? param.num_axes() != 0 : param.bias_term();
  return WholeBatchIf(param.axis() == 0 && learns);
}
unsigned BiasTraits(const LayerParameter& layer) {
  const BiasParameter& param = layer.bias_param();
  return WholeBatchIf(param.axis() == 0 && layer.bottom_size() == 1 && param.num_axes() != 0);
}

DOPPIO_REGISTER(LayerRows, "Scale",
                {&DrawScaleLayer, LayerRow::kWholeBatch, 1.5, {}, LayerRow::kInner, &ScaleTraits});
DOPPIO_REGISTER(LayerRows, "Bias",
                {&DrawBiasLayer, LayerRow::kWholeBatch, 1, {}, LayerRow::kInner, &BiasTraits});

}  // namespace
}  // namespace doppio
