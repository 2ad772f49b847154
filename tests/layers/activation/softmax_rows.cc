// Rows of Softmax and ArgMax, which compare the elements along an axis.
#include <algorithm>
#include <string>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

// Returns an axis after the first, usually one with several elements. Rarely, or if there is only
// one axis, returns the first.
int DrawClassAxis(NetDraft* draft, const DraftBlob& blob) {
  Draw& draw = draft->draw();
  const Shape& shape = blob.shape;
  if (shape.rank() == 1 || (blob.filter.empty() && draw.Chance(0.05))) return 0;
  const int axis = static_cast<int>(draw.Int(1, shape.rank() - 1));
  if (shape[axis] > 1 || draw.Chance(0.1)) return axis;
  for (int other = 1; other < shape.rank(); ++other) {
    if (shape[other] > 1) return other;
  }
  return axis;
}

bool DrawSoftmax(NetDraft* draft) {
  const auto blob = AnyDrawnValues(draft, 1);
  if (!blob) return false;
  const int rank = blob->shape.rank();
  const std::string fields = DrawnMessage(draft)
                                 .Maybe("engine", CaffeEngines())
                                 .Axis("axis", DrawClassAxis(draft, *blob), rank, 1)
                                 .In("softmax_param");
  return draft->Add(DrawnLayer("Softmax", {blob->name}, fields, draft->draw().Chance(0.3)));
}

unsigned SoftmaxTraits(const LayerParameter& layer) {
  return WholeBatchIf(layer.softmax_param().axis() == 0);
}

// Cuts the gradient where one would be needed, because the layer has none.
bool DrawArgMax(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = AnyDrawnValues(draft, 1);
  if (!blob) return false;
  const Shape& shape = blob->shape;
  const bool by_sample = shape.rank() == 1 || draw.Chance(0.4);
  DrawnMessage fields(draft);
  int axis = 1;
  if (!by_sample) {
    axis = DrawClassAxis(draft, *blob);
    fields.Axis("axis", axis, shape.rank(), -1);
  }
  // Batches of TEST may have fewer than top_k samples.
  const bool over_samples = !blob->rows || axis == 0;
  const int64_t size = over_samples ? 1 : by_sample ? shape.count(1) : shape[axis];
  if (draw.Chance(0.5)) {
    const int64_t top_k =
        draw.Chance(0.2) ? std::min<int64_t>(size, 40) : draw.Int(1, std::min<int64_t>(size, 5));
    fields.Set("top_k", top_k);
  }
  const bool values = draw.Chance(0.5);
  if (values || draw.Chance(0.3)) fields.Set("out_max_val", values);
  NetDraft::Layer layer = DrawnLayer("ArgMax", {blob->name}, fields.In("argmax_param"));
  if (blob->learns) layer.fields += "propagate_down: false";
  // Indices may be large, so other layers should not compute with them.
  layer.kinds = {!by_sample && values ? BlobKind::kValues : BlobKind::kOther};
  return draft->Add(layer);
}

unsigned ArgMaxTraits(const LayerParameter& layer) {
  const ArgMaxParameter& param = layer.argmax_param();
  return LayerRow::kJumps | LayerRow::kHostOnly | LayerRow::kNoBackward |
         WholeBatchIf(param.has_axis() && param.axis() == 0);
}

DOPPIO_REGISTER(LayerRows, "Softmax",
                {&DrawSoftmax, LayerRow::kWholeBatch, 1, {}, LayerRow::kInner, &SoftmaxTraits});
DOPPIO_REGISTER(LayerRows, "ArgMax",
                {&DrawArgMax,
                 LayerRow::kJumps | LayerRow::kHostOnly | LayerRow::kNoBackward |
                     LayerRow::kWholeBatch,
                 0.4,
                 {},
                 LayerRow::kInner,
                 &ArgMaxTraits});

}  // namespace
}  // namespace doppio
