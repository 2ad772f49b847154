// Rows of InnerProduct and Embed.
#include <algorithm>
#include <cmath>
#include <string>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

constexpr int64_t kMostDrawnWeights = 1 << 15;

// Sets the fillers of a matrix of `inputs` columns and, if there is one, of its bias.
void DrawInnerProductFillers(NetDraft* draft, int64_t inputs, DrawnMessage* fields) {
  fields->Add(draft->Filler("weight_filler", 1 / std::sqrt(static_cast<double>(inputs))));
  fields->MaybeFiller("bias_filler");
}

bool DrawInnerProduct(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Values(2);
  if (!blob) return false;
  const Shape& shape = blob->shape;
  // With axis 0, the batch is an input, so the weights fit one batch size only.
  const bool whole = HasOneBatchSize(*draft) && blob->filter.empty() && draw.Chance(0.04);
  const int axis = whole              ? 0
                   : draw.Chance(0.7) ? 1
                                      : static_cast<int>(draw.Int(1, shape.rank() - 1));
  const int64_t inputs = shape.count(axis), rows = shape.count() / inputs;
  const int64_t most = std::min({int64_t{33}, kMostDrawnWeights / inputs, kMostDrawnValues / rows});
  DrawnMessage fields(draft);
  fields.Set("num_output", draw.Extent(std::max<int64_t>(1, most)));
  fields.Axis("axis", axis, shape.rank(), 1).MaybeBool("bias_term").MaybeBool("transpose");
  DrawInnerProductFillers(draft, inputs, &fields);
  fields.Maybe("engine", ForkEngines());
  if (draw.Chance(0.3)) {
    const bool relu = draw.Chance(0.7);
    fields.Set("relu", relu);
    if (relu) fields.Maybe("negative_slope", {"0", "0.1", "0.3"});
  }
  return draft->Add(DrawnLayer("InnerProduct", {blob->name}, fields.In("inner_product_param")));
}

unsigned InnerProductTraits(const LayerParameter& layer) {
  const InnerProductParameter& param = layer.inner_product_param();
  return (param.relu() ? unsigned{LayerRow::kKinks} : 0u) | WholeBatchIf(param.axis() == 0);
}

bool DrawEmbed(NetDraft* draft) {
  Draw& draw = draft->draw();
  const int64_t classes = draw.Of<int64_t>({1, 2, 5, 17, 33});
  const std::vector<int64_t> sample =
      draw.Of<std::vector<int64_t>>({{}, {}, {1}, {3}, {7}, {2, 3}});
  const DraftBlob indices = classes > 1 && draw.Chance(0.5)
                                ? draft->Labels(classes, sample)
                                : draft->Numbers({"whole", 0, classes - 1.0, sample});
  DrawnMessage fields(draft);
  fields.Set("num_output", draw.Extent(33)).MaybeBool("bias_term");
  fields.Set("input_dim", classes + (draw.Chance(0.3) ? draw.Int(1, 9) : 0));
  DrawInnerProductFillers(draft, 1, &fields);  // each row is the input of one sample
  return draft->Add(DrawnLayer("Embed", {indices.name}, fields.In("embed_param")));
}

DOPPIO_REGISTER(LayerRows, "InnerProduct",
                {&DrawInnerProduct,
                 LayerRow::kWholeBatch | LayerRow::kKinks,
                 3,
                 {},
                 LayerRow::kInner,
                 &InnerProductTraits});
DOPPIO_REGISTER(LayerRows, "Embed", {&DrawEmbed, 0, 0.5});

}  // namespace
}  // namespace doppio
