// Rows of Interp and Upsample.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

// Draws how many pixels Interp cuts off each axis; at least one remains. Returns the larger side of
// the rest.
int64_t DrawInterpPads(NetDraft* draft, const Shape& shape, DrawnMessage* fields) {
  Draw& draw = draft->draw();
  const int64_t spare = std::min(shape[2], shape[3]) - 1;
  int64_t begin = 0, end = 0;
  if (draw.Chance(0.3)) {
    begin = draw.Int(0, std::min<int64_t>(2, spare));
    fields->Set("pad_beg", -begin);
  }
  if (draw.Chance(0.3)) {
    end = draw.Int(0, std::min<int64_t>(2, spare - begin));
    fields->Set("pad_end", -end);
  }
  return std::max(shape[2], shape[3]) - begin - end;
}

// Draws zoom_factor, shrink_factor or both for sides of at most `side` pixels.
void DrawInterpFactors(NetDraft* draft, int64_t side, DrawnMessage* fields) {
  Draw& draw = draft->draw();
  const int64_t way = draw.Int(0, 2);
  int64_t shrunk = side;
  if (way != 0) {
    const int64_t shrink = draw.Of<int64_t>({1, 2, 3, 99});
    fields->Set("shrink_factor", shrink);
    shrunk = (side - 1) / shrink + 1;
  }
  if (way == 1) return;
  const int64_t most = shrunk == 1 ? 4 : std::max<int64_t>(1, (kMostDrawnSide - 1) / (shrunk - 1));
  fields->Set("zoom_factor", draw.Int(1, std::min<int64_t>(4, most)));
}

bool DrawInterp(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Images();
  if (!blob) return false;
  DrawnMessage fields(draft);
  const int64_t largest = DrawInterpPads(draft, blob->shape, &fields);
  std::vector<std::string> bottoms = {blob->name};
  switch (draw.Int(0, 2)) {
    case 0:
      DrawInterpFactors(draft, largest, &fields);
      break;
    case 1:
      fields.Set("height", draw.Extent(17)).Set("width", draw.Extent(17));
      if (draw.Chance(0.2)) fields.Set("use_blob_size", false);
      break;
    default: {
      const auto like = draft->Images();
      bottoms.push_back(like ? like->name : blob->name);
      fields.Set("use_blob_size", true);
    }
  }
  return draft->Add(DrawnLayer("Interp", bottoms, fields.In("interp_param")));
}

bool DrawPlainUpsample(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Images();
  if (!blob) return false;
  const auto scale = [&](int64_t side) {
    return draw.Int(1, std::clamp<int64_t>(kMostDrawnSide / side, 1, 4));
  };
  DrawnMessage fields(draft);
  if (draw.Chance(0.4)) {
    fields.Set("scale_h", scale(blob->shape[2])).Set("scale_w", scale(blob->shape[3]));
  } else if (draw.Chance(0.9)) {
    fields.Set("scale", scale(std::max(blob->shape[2], blob->shape[3])));
  }
  if (draw.Chance(0.1)) fields.Set("pad_out_h", false).Set("pad_out_w", false);
  return draft->Add(DrawnLayer("Upsample", {blob->name}, fields.In("upsample_param")));
}

// Sets the size of the top to height x width, twice the size of the bottom, less one if odd.
void DrawMaskedSize(NetDraft* draft, int64_t height, int64_t width, DrawnMessage* fields) {
  Draw& draw = draft->draw();
  if (draw.Chance(0.5)) {
    if (draw.Chance(0.3)) fields->Set("scale", 2);  // as in SegNet's files, which use the size
    fields->Set("upsample_h", height).Set("upsample_w", width);
    return;
  }
  if (draw.Chance(0.4)) {
    fields->Set("scale_h", 2).Set("scale_w", 2);
  } else {
    fields->Maybe("scale", {"2"});
  }
  if (height % 2 != 0) fields->Set("pad_out_h", true);
  if (width % 2 != 0) fields->Set("pad_out_w", true);
}

// Adds a MAX pooling with a mask, sometimes a layer that keeps the shape, and an Upsample.
bool DrawMaskedUpsample(NetDraft* draft) {
  Draw& draw = draft->draw();
  const auto blob = draft->Images(2);
  if (!blob) return false;
  NetDraft::Layer pooling =
      DrawnLayer("Pooling", {blob->name}, "pooling_param { pool: MAX kernel_size: 2 stride: 2 }");
  pooling.tops = 2;
  pooling.kinds = {BlobKind::kValues, BlobKind::kOther};
  if (!draft->Add(pooling)) return false;
  DraftBlob values = draft->tops()[0];
  const std::string mask = draft->tops()[1].name;
  if (draw.Chance(0.5)) {
    const auto squashed = Squashed(draft, values);
    if (!squashed) return false;
    values = *squashed;
  }
  DrawnMessage fields(draft);
  DrawMaskedSize(draft, blob->shape[2], blob->shape[3], &fields);
  return draft->Add(DrawnLayer("Upsample", {values.name, mask}, fields.In("upsample_param")));
}

bool DrawUpsample(NetDraft* draft) {
  return draft->draw().Chance(0.5) ? DrawMaskedUpsample(draft) : DrawPlainUpsample(draft);
}

// With a mask, values move if rounding changes which value of a window is the largest.
unsigned UpsampleTraits(const LayerParameter& layer) {
  return (layer.bottom_size() == 2 ? unsigned{LayerRow::kJumps} : 0u);
}

DOPPIO_REGISTER(LayerRows, "Interp", {&DrawInterp, 0, 0.7});
DOPPIO_REGISTER(LayerRows, "Upsample",
                {&DrawUpsample, LayerRow::kJumps, 0.7, {}, LayerRow::kInner, &UpsampleTraits});

}  // namespace
}  // namespace doppio
