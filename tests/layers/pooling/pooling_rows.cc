// Rows of Pooling and SPP.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "layers/pooling/pooling_windows.h"
#include "tests/layers/common/drawn_blobs.h"
#include "tests/layers/common/drawn_fields.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

// STOCHASTIC pooling needs values that are not negative. Returns such values of the shape of
// `blob`, or nothing.
std::optional<DraftBlob> NotNegative(NetDraft* draft, const DraftBlob& blob) {
  const auto type = draft->draw().Of<std::string>({"ReLU", "AbsVal", "Sigmoid"});
  return AddWithOneTop(draft, type, {blob.name});
}

// Returns true if Pooling accepts the windows, and writes their number.
bool SetWindowCount(PoolingAxis* axis, bool floor) {
  axis->output = CountWindows(*axis, floor, axis->pad > 0);
  return axis->output > 0 && (axis->output - 1) * axis->stride - axis->pad < axis->input;
}

PoolingAxis DrawPoolingAxis(Draw& draw, int64_t input, bool floor, bool pads) {
  PoolingAxis axis;
  axis.input = input;
  for (int i = 0; i < 10; ++i) {
    axis.kernel = draw.Of<int64_t>({1, 2, 2, 2, 3, 3, 3, 5, input, input + 1});
    axis.pad = pads && draw.Chance(0.35) ? draw.Of<int64_t>({axis.kernel / 2, axis.kernel - 1}) : 0;
    axis.stride = draw.Of<int64_t>({1, 1, 2, 2, 2, 3, axis.kernel, axis.kernel + 1});
    if (SetWindowCount(&axis, floor)) return axis;
  }
  axis.kernel = axis.stride = 1;
  axis.pad = 0;
  return axis;
}

// Draws the fields of the windows.
void SetPoolingWindows(Draw& draw, const Shape& images, bool floor, bool pads,
                       DrawnFields* fields) {
  PoolingAxis h = DrawPoolingAxis(draw, images[2], floor, pads), w = h;
  w.input = images[3];
  if (draw.Chance(0.35) || !SetWindowCount(&w, floor))
    w = DrawPoolingAxis(draw, images[3], floor, pads);
  fields->SetExtents("kernel_size", "kernel", {h.kernel, w.kernel}, -1, false);
  fields->SetExtents("stride", "stride", {h.stride, w.stride}, 1, false);
  fields->SetExtents("pad", "pad", {h.pad, w.pad}, 0, false);
}

bool DrawPooling(NetDraft* draft) {
  Draw& draw = draft->draw();
  std::optional<DraftBlob> bottom = draft->Images();
  if (!bottom) return false;
  const auto method = draw.Of<std::string>({"MAX", "MAX", "MAX", "AVE", "AVE", "STOCHASTIC"});
  const bool max = method == "MAX", stochastic = method == "STOCHASTIC";
  if (stochastic && !(bottom = NotNegative(draft, *bottom))) return false;
  DrawnFields fields(&draw);
  fields.Maybe(max ? 0.7 : 1, "pool", method);
  fields.MaybeOneOf(0.2, "engine", {"DEFAULT", "CAFFE", "CUDNN", "MKL2017", "MKLDNN"});
  fields.Maybe(0.08, "axis", 1).MaybeBool(max ? 0.05 : 0.4, "avg_include_pad");
  const bool floor = draw.Chance(0.35);
  const int64_t way = draw.Int(0, 2);
  // Each of three fields rounds down.
  fields.Maybe(floor && way == 0 ? 1 : 0, "round_mode", "FLOOR");
  fields.Maybe(floor && way == 1 ? 1 : 0.05, "torch_pooling", floor);
  fields.Maybe(floor && way == 2 ? 1 : 0.05, "ceil_mode", !floor);
  fields.Maybe(!floor && way == 0 ? 0.2 : 0, "round_mode", "CEIL");
  if (draw.Chance(0.12)) {
    fields.Set("global_pooling", true).Maybe(0.2, "pad", 0).Maybe(0.2, "stride", 1);
  } else {
    fields.Maybe(0.05, "global_pooling", false);
    SetPoolingWindows(draw, bottom->shape, floor, !stochastic, &fields);
  }
  const int tops = max && draw.Chance(0.15) ? 2 : 1;
  return draft->Add({"Pooling",
                     {bottom->name},
                     tops,
                     fields.In("pooling_param"),
                     {BlobKind::kValues, BlobKind::kOther}});
}

// Returns the padding of the level of SPP with so many windows, or -1 if there is no such level.
int64_t PyramidPad(int64_t input, int64_t windows) {
  const int64_t kernel = (input + windows - 1) / windows;
  const int64_t pad = (kernel * windows - input + 1) / 2;
  return pad < kernel ? pad : -1;
}

bool DrawSpp(NetDraft* draft) {
  Draw& draw = draft->draw();
  std::optional<DraftBlob> bottom = draft->Images();
  if (!bottom) return false;
  const auto method = draw.Of<std::string>({"MAX", "MAX", "AVE", "STOCHASTIC"});
  const bool stochastic = method == "STOCHASTIC";
  int64_t most = 0;
  for (int64_t windows = 1; most < 4; windows *= 2, ++most) {
    const int64_t h = PyramidPad(bottom->shape[2], windows),
                  w = PyramidPad(bottom->shape[3], windows);
    if (h < 0 || w < 0 || (stochastic && h + w > 0)) break;
  }
  if (stochastic && !(bottom = NotNegative(draft, *bottom))) return false;
  DrawnFields fields(&draw);
  fields.Set("pyramid_height", draw.Int(1, most)).Maybe(method == "MAX" ? 0.5 : 1, "pool", method);
  fields.MaybeOneOf(0.2, "engine", {"DEFAULT", "CAFFE", "CUDNN"});
  return draft->Add({"SPP", {bottom->name}, 1, fields.In("spp_param"), {}});
}

constexpr unsigned kDrawsElements = LayerRow::kRandom | LayerRow::kJumps;

unsigned PoolingTraits(const LayerParameter& layer) {
  const PoolingParameter::PoolMethod method = layer.pooling_param().pool();
  if (method == PoolingParameter::STOCHASTIC) return kDrawsElements;
  unsigned traits = method == PoolingParameter::MAX ? unsigned{LayerRow::kKinks} : 0u;
  if (layer.top_size() > 1) traits |= LayerRow::kJumps;  // indices
  return traits;
}

unsigned SppTraits(const LayerParameter& layer) {
  const SPPParameter::PoolMethod method = layer.spp_param().pool();
  if (method == SPPParameter::STOCHASTIC) return kDrawsElements | LayerRow::kNoOracle;
  return method == SPPParameter::MAX ? unsigned{LayerRow::kKinks} : 0u;
}

LayerRow PoolingRow() {
  const std::string refused = "of volumes, which Pooling refuses";
  return {&DrawPooling,
          kDrawsElements | LayerRow::kKinks,
          3,
          {{"pooling_param.pad_3d", refused},
           {"pooling_param.kernel_size_3d", refused},
           {"pooling_param.stride_3d", refused}},
          LayerRow::kInner,
          &PoolingTraits};
}
DOPPIO_REGISTER(LayerRows, "Pooling", PoolingRow());
DOPPIO_REGISTER(LayerRows, "SPP",
                {&DrawSpp,
                 kDrawsElements | LayerRow::kKinks | LayerRow::kNoOracle,
                 0.7,
                 {},
                 LayerRow::kInner,
                 &SppTraits});

}  // namespace
}  // namespace doppio
