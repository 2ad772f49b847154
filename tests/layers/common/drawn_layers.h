// Blobs and layers that rows of layer types (tests/random/layer_row.h) need around the layer that
// they draw.
#ifndef DOPPIO_TESTS_LAYERS_COMMON_DRAWN_LAYERS_H_
#define DOPPIO_TESTS_LAYERS_COMMON_DRAWN_LAYERS_H_

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_message.h"
#include "tests/random/layer_row.h"
#include "tests/random/net_draft.h"

namespace doppio {

// Limits of tops that are larger than their bottoms, so that nets stay small.
constexpr int64_t kMostDrawnValues = 1 << 14;
constexpr int64_t kMostDrawnSide = 24;

inline NetDraft::Layer DrawnLayer(const std::string& type, const std::vector<std::string>& bottoms,
                                  const std::string& fields = "", bool in_place = false) {
  NetDraft::Layer layer;
  layer.type = type;
  layer.bottoms = bottoms;
  layer.fields = fields;
  layer.in_place = in_place;
  return layer;
}

// Adds a layer and returns its first top, or nothing if the draft refuses the layer.
inline std::optional<DraftBlob> AddDrawn(NetDraft* draft, const NetDraft::Layer& layer) {
  if (!draft->Add(layer)) return std::nullopt;
  return draft->tops().front();
}

// Returns true if a blob consists of values for any layer.
inline bool HasValues(const DraftBlob& blob) {
  return blob.kind == BlobKind::kValues && !blob.score;
}

// Returns true if a layer's parameters may have the extent of the first axis: batches have the same
// size in both phases.
inline bool HasOneBatchSize(const NetDraft& draft) { return draft.batch() == draft.test_batch(); }

// Returns values with a number of axes in the given range, or nothing. Usually they have a row per
// sample, but not always.
inline std::optional<DraftBlob> AnyDrawnValues(NetDraft* draft, int min_axes = 0,
                                               int max_axes = 5) {
  if (draft->draw().Chance(0.7)) return draft->Values(std::max(1, min_axes), max_axes);
  return draft->Find([&](const DraftBlob& blob) {
    return HasValues(blob) && blob.shape.rank() >= min_axes && blob.shape.rank() <= max_axes;
  });
}

// Adds a layer that maps the blob into (-1, 1), and returns its top.
inline std::optional<DraftBlob> Squashed(NetDraft* draft, const DraftBlob& blob) {
  const std::string type = draft->draw().Chance(0.7) ? "TanH" : "Sigmoid";
  return AddDrawn(draft, DrawnLayer(type, {blob.name}));
}

// Adds layers that map the blob into [low, high], and returns the last top.
inline std::optional<DraftBlob> SquashedInto(NetDraft* draft, const DraftBlob& blob, double low,
                                             double high) {
  if (draft->draw().Chance(0.4)) {
    const std::string range = DrawnMessage(draft).Set("min", low).Set("max", high).In("clip_param");
    return AddDrawn(draft, DrawnLayer("Clip", {blob.name}, range));
  }
  const auto unit = AddDrawn(draft, DrawnLayer("Sigmoid", {blob.name}));
  if (!unit) return std::nullopt;
  const std::string range =
      DrawnMessage(draft).Set("scale", high - low).Set("shift", low).In("power_param");
  return AddDrawn(draft, DrawnLayer("Power", {unit->name}, range, draft->draw().Chance(0.5)));
}

// Adds an InnerProduct with `outputs` outputs per sample, of means if the samples are large, and
// returns its top.
inline std::optional<DraftBlob> Projected(NetDraft* draft, DraftBlob blob, int64_t outputs) {
  if (blob.shape.rank() > 2 && blob.shape.count(1) > 1024) {
    const auto means = AddDrawn(
        draft, DrawnLayer("Reduction", {blob.name}, "reduction_param { operation: MEAN axis: 2 }"));
    if (!means) return std::nullopt;
    blob = *means;
  }
  const double size = 1 / std::sqrt(static_cast<double>(blob.shape.count(1)));
  const std::string fields = DrawnMessage(draft)
                                 .Set("num_output", outputs)
                                 .Add(draft->Filler("weight_filler", size))
                                 .MaybeFiller("bias_filler")
                                 .In("inner_product_param");
  return AddDrawn(draft, DrawnLayer("InnerProduct", {blob.name}, fields));
}

// Adds a Reshape that puts an axis of extent 1 before the others, and returns its top.
inline std::optional<DraftBlob> WithFirstAxis(NetDraft* draft, const DraftBlob& blob) {
  return AddDrawn(
      draft, DrawnLayer("Reshape", {blob.name}, "reshape_param { shape { dim: 1 } num_axes: 0 }"));
}

// Adds a Reshape that removes the first axis, whose extent is 1, and returns its top.
inline std::optional<DraftBlob> WithoutFirstAxis(NetDraft* draft, const DraftBlob& blob) {
  return AddDrawn(
      draft, DrawnLayer("Reshape", {blob.name}, "reshape_param { shape { dim: -1 } num_axes: 2 }"));
}

// Returns kWholeBatch if `does`, for layers that combine samples with some values of their fields.
inline unsigned WholeBatchIf(bool does) { return does ? unsigned{LayerRow::kWholeBatch} : 0u; }

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_COMMON_DRAWN_LAYERS_H_
