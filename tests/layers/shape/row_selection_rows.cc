// Rows of BatchReindex and Filter, which select rows of a batch.
#include <algorithm>
#include <cmath>
#include <string>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

bool DrawBatchReindex(NetDraft* draft) {
  const auto blob = draft->Values(1);
  if (!blob) return false;
  // The rows that batches of both phases have.
  const double last = static_cast<double>(std::min(draft->batch(), draft->test_batch()) - 1);
  const DraftBlob indices = draft->Numbers({"whole", 0, last, {}});
  return draft->Add(DrawnLayer("BatchReindex", {blob->name, indices.name}));
}

// Adds layers that treat each row by itself behind a top of Filter, and returns the last top, which
// has `outputs` values per row.
std::optional<DraftBlob> FollowFilter(NetDraft* draft, DraftBlob blob, int64_t outputs) {
  for (int64_t more = draft->draw().Int(0, 2); more > 0; --more) {
    const std::string type = draft->draw().Of<std::string>({"ReLU", "TanH", "Flatten"});
    const auto top = AddDrawn(draft, DrawnLayer(type, {blob.name}));
    if (!top) return std::nullopt;
    blob = *top;
  }
  const double size = 1 / std::sqrt(static_cast<double>(blob.shape.count(1)));
  DrawnMessage fields(draft);
  fields.Set("num_output", outputs).Add(draft->Filler("weight_filler", size));
  fields.MaybeFiller("bias_filler");
  return AddDrawn(draft, DrawnLayer("InnerProduct", {blob.name}, fields.In("inner_product_param")));
}

// Adds a Filter of values, targets and sometimes other values, and the layers up to a loss, because
// rows of losses do not find the targets. Other layers may read the values, too.
bool DrawFilter(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Values(2);
  if (!blob) return false;
  const bool labels = draw.Chance(0.5);
  const int64_t outputs = draw.Of<int64_t>({2, 3, 5, 7});
  const DraftBlob targets =
      labels ? draft->Labels(outputs) : draft->Numbers({"uniform", -1, 1, {outputs}});
  NetDraft::Layer filter = DrawnLayer("Filter", {blob->name, targets.name});
  filter.kinds = {BlobKind::kValues, BlobKind::kOther};
  if (draw.Chance(0.3)) {
    const auto other = draft->Values(1);
    filter.bottoms.push_back(other ? other->name : blob->name);
    filter.kinds.push_back(BlobKind::kValues);
  }
  filter.tops = static_cast<int>(filter.bottoms.size());
  filter.bottoms.push_back(draft->Numbers({"whole", 0, 1, {}}).name);
  if (!draft->Add(filter)) return false;
  const std::string kept_targets = draft->tops()[1].name;
  const auto values = FollowFilter(draft, draft->tops()[0], outputs);
  if (!values) return false;
  // The targets count as learned if the values do, because they passed through the same layer.
  return draft->Add(DrawnLayer(labels ? "SoftmaxWithLoss" : "EuclideanLoss",
                               {values->name, kept_targets},
                               "propagate_down: true propagate_down: false"));
}

DOPPIO_REGISTER(LayerRows, "BatchReindex", {&DrawBatchReindex, LayerRow::kWholeBatch, 0.5});
DOPPIO_REGISTER(LayerRows, "Filter", {&DrawFilter, 0, 0.4});

}  // namespace
}  // namespace doppio
