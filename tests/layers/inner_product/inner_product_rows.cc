// Rows of InnerProduct, MatMul, Attention and Embed.
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

// Multiplies matrices of a sample by those of the same sample or by a learned matrix.
bool DrawMatMul(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto a = draft->Values(3);
  if (!a) return false;
  const int rank = a->shape.rank();
  const int64_t rows = a->shape[rank - 2], columns = a->shape[rank - 1];
  const bool turn_a = draw.Chance(0.4), turn_b = draw.Chance(0.5);
  const int64_t inner = turn_a ? rows : columns, outer = turn_a ? columns : rows;
  std::string b;
  int64_t outputs = outer;
  if (turn_a != turn_b && draw.Chance(0.7)) {
    const auto same = draft->SameShape(*a);
    b = same ? same->name : a->name;
  } else {
    outputs = draw.Extent(17);
    DrawnMessage shape(draft);
    shape.Set("dim", turn_b ? outputs : inner).Set("dim", turn_b ? inner : outputs);
    NetDraft::Layer parameter =
        DrawnLayer("Parameter", {}, "parameter_param { " + shape.In("shape") + "}");
    parameter.kinds = {BlobKind::kOther};
    const auto matrix = AddDrawn(draft, parameter);
    if (!matrix) return false;
    b = matrix->name;
  }
  if (a->shape.count() / inner * outputs > kMostDrawnValues) return false;
  DrawnMessage fields(draft);
  if (turn_a || draw.Chance(0.3)) fields.Set("transpose_a", turn_a);
  if (turn_b || draw.Chance(0.3)) fields.Set("transpose_b", turn_b);
  // Keeps sums of many products at unit size.
  const double size = 1 / std::sqrt(static_cast<double>(inner));
  const auto scaled = AddDrawn(
      draft,
      DrawnLayer("Power", {a->name}, DrawnMessage(draft).Set("scale", size).In("power_param")));
  return scaled && draft->Add(DrawnLayer("MatMul", {scaled->name, b}, fields.In("matmul_param")));
}

// Returns values of about unit size with `width` numbers in each position of `blob`, which has
// three axes.
std::optional<DraftBlob> PositionsOf(NetDraft* draft, const DraftBlob& blob, int64_t width) {
  DrawnMessage fields(draft);
  fields.Set("axis", 2).Set("num_output", width);
  DrawInnerProductFillers(draft, blob.shape[2], &fields);
  return AddDrawn(draft, DrawnLayer("InnerProduct", {blob.name}, fields.In("inner_product_param")));
}

// Returns values of three axes, or nothing.
std::optional<DraftBlob> SequencesOf(NetDraft* draft) {
  const auto blob = draft->Values(3, 4);
  if (!blob || blob->shape.rank() == 3) return blob;
  return AddDrawn(draft, DrawnLayer("Reshape", {blob->name},
                                    "reshape_param { shape { dim: 0 dim: 0 dim: -1 } }"));
}

// Returns bottom 3 for sequences of `positions`: numbers to add or, with `keep`, 0 and 1.
std::optional<DraftBlob> DrawAttentionMask(NetDraft* draft, int64_t heads, int64_t positions,
                                           bool keep) {
  Draw& draw = draft->draw();
  if (keep || draw.Chance(0.3)) {
    const std::vector<int64_t> sample =
        draw.Of<std::vector<int64_t>>({{1, 1, positions}, {heads, positions, positions}});
    return keep ? draft->Numbers({"whole", 0, 1, sample})
                : draft->Numbers({"uniform", -1, 1, sample});
  }
  DrawnMessage shape(draft);
  if (draw.Chance(0.5)) shape.Set("dim", draw.Chance(0.5) ? heads : 1);
  shape.Set("dim", draw.Chance(0.7) ? positions : 1).Set("dim", positions);
  NetDraft::Layer parameter =
      DrawnLayer("Parameter", {}, "parameter_param { " + shape.In("shape") + "}");
  parameter.kinds = {BlobKind::kOther};
  return AddDrawn(draft, parameter);
}

bool DrawAttention(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = SequencesOf(draft);
  if (!blob) return false;
  const auto same = draft->SameShape(*blob);
  const DraftBlob& others = same ? *same : *blob;
  const int64_t heads = draw.Of<int64_t>({1, 1, 2, 3}), positions = blob->shape[1];
  const int64_t depth = heads * draw.Int(1, 5), values = heads * draw.Int(1, 5);
  const auto q = PositionsOf(draft, *blob, depth), k = PositionsOf(draft, others, depth),
             v = PositionsOf(draft, others, values);
  if (!q || !k || !v) return false;
  std::vector<std::string> bottoms = {q->name, k->name, v->name};
  DrawnMessage fields(draft);
  if (heads > 1 || draw.Chance(0.5)) fields.Set("heads", heads);
  fields.Maybe("scale", {"0.5", "1", "-0.3"});
  if (draw.Chance(0.3)) fields.Set("dropout_ratio", draw.Of<std::string>({"0", "0.1", "0.5"}));
  if (draw.Chance(0.5)) {
    const bool keep = draw.Chance(0.4);
    const auto mask = DrawAttentionMask(draft, heads, positions, keep);
    if (!mask) return false;
    bottoms.push_back(mask->name);
    if (keep || draw.Chance(0.3)) fields.Set("mask", keep ? "KEEP" : "ADD");
  }
  if (draw.Chance(0.4)) {
    fields.Set("relative_bias", true).MaybeFiller("relative_bias_filler");
    if (draw.Chance(0.6)) fields.Set("grid_rows", positions % 2 == 0 ? 2 : positions);
  }
  return draft->Add(DrawnLayer("Attention", bottoms, fields.In("attention_param")));
}

// The oracle cannot see which weights are dropped.
unsigned AttentionTraits(const LayerParameter& layer) {
  return layer.attention_param().dropout_ratio() > 0 ? LayerRow::kRandom | LayerRow::kNoOracle : 0u;
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
DOPPIO_REGISTER(LayerRows, "MatMul", {&DrawMatMul});
DOPPIO_REGISTER(LayerRows, "Attention",
                {&DrawAttention,
                 LayerRow::kRandom | LayerRow::kNoOracle,
                 1,
                 {},
                 LayerRow::kInner,
                 &AttentionTraits});
DOPPIO_REGISTER(LayerRows, "Embed", {&DrawEmbed, 0, 0.5});

}  // namespace
}  // namespace doppio
