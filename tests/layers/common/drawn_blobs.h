// The layers that rows of losses and of detection layers put between the draft's values and their
// own layer: classifiers, small maps, heads.
#ifndef DOPPIO_TESTS_LAYERS_COMMON_DRAWN_BLOBS_H_
#define DOPPIO_TESTS_LAYERS_COMMON_DRAWN_BLOBS_H_

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_fields.h"
#include "tests/layers/common/drawn_layers.h"
#include "tests/random/net_draft.h"

namespace doppio {

// Adds a layer with one top. Returns the top, or nothing if the draft refuses the layer.
inline std::optional<DraftBlob> AddWithOneTop(NetDraft* draft, const std::string& type,
                                              const std::vector<std::string>& bottoms,
                                              const std::string& fields = "",
                                              BlobKind kind = BlobKind::kValues) {
  NetDraft::Layer layer = DrawnLayer(type, bottoms, fields);
  layer.kinds = {kind};
  return AddDrawn(draft, layer);
}

// Adds a Convolution with so many outputs that keeps the extents of the map. `gain` is the size of
// its top for values of size 1.
inline std::optional<DraftBlob> AddConvolution(NetDraft* draft, const DraftBlob& map,
                                               int64_t outputs, double gain = 1) {
  const bool wide = draft->draw().Chance(0.3);
  const double inputs = static_cast<double>(map.shape[1] * (wide ? 9 : 1));
  DrawnFields fields(&draft->draw());
  fields.Set("num_output", outputs).Set("kernel_size", wide ? 3 : 1).Set("pad", wide ? 1 : 0);
  fields.Add(draft->Filler("weight_filler", gain / std::sqrt(inputs)));
  return AddWithOneTop(draft, "Convolution", {map.name}, fields.In("convolution_param"));
}

// Returns images with at most `side` rows and columns, which may be pooled, or nothing.
inline std::optional<DraftBlob> SmallMap(NetDraft* draft, int64_t side) {
  const std::optional<DraftBlob> images = draft->Images();
  if (!images) return std::nullopt;
  const int64_t height = images->shape[2], width = images->shape[3];
  if (std::max(height, width) <= side) return images;
  const int64_t rows = (height + side - 1) / side, columns = (width + side - 1) / side;
  DrawnFields fields(&draft->draw());
  fields.Set("pool", "AVE").Set("kernel_h", rows).Set("kernel_w", columns);
  fields.Set("stride_h", rows).Set("stride_w", columns);
  return AddWithOneTop(draft, "Pooling", {images->name}, fields.In("pooling_param"));
}

// Returns values that `fits` accepts, which have a row per sample and two axes or more: the draft's
// with probability `chance`, else those of a new InnerProduct with so many outputs, or nothing.
inline std::optional<DraftBlob> FoundOrProjected(
    NetDraft* draft, double chance, const std::vector<int64_t>& outputs,
    const std::function<bool(const DraftBlob&)>& fits) {
  Draw& draw = draft->draw();
  if (draw.Chance(chance)) {
    const std::optional<DraftBlob> found = draft->Find([&](const DraftBlob& blob) {
      return HasValues(blob) && blob.rows && blob.shape.rank() >= 2 && fits(blob);
    });
    if (found) return found;
  }
  const std::optional<DraftBlob> from = draft->Values(2, 5);
  return from ? Projected(draft, *from, draw.Of(outputs)) : std::nullopt;
}

// Returns at most `most` values per sample. Losses that sum over a sample then have gradients of a
// size with which nets learn.
inline std::optional<DraftBlob> FewValues(NetDraft* draft, int64_t most) {
  return FoundOrProjected(draft, 0.7, {1, 2, 3, 8, 17},
                          [most](const DraftBlob& blob) { return blob.shape.count(1) <= most; });
}

// Returns values with 2 to 33 channels and at most 100 positions.
inline std::optional<DraftBlob> ClassScores(NetDraft* draft) {
  return FoundOrProjected(draft, 0.6, {2, 3, 5, 10, 17}, [](const DraftBlob& blob) {
    return blob.shape[1] >= 2 && blob.shape[1] <= 33 && blob.shape.count(2) <= 100;
  });
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_COMMON_DRAWN_BLOBS_H_
