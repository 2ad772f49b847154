// Rows of Convolution, its depthwise aliases, Deconvolution and Im2col.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/common/drawn_fields.h"
#include "tests/layers/convolution/drawn_windows.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

constexpr int64_t kMostConvKernel = 64;    // larger than all maps
constexpr int64_t kMostConvMacs = 400000;  // of a layer
constexpr int64_t kMostUnfolded = 128;     // channels of the top of Im2col

// Adds the first weights, of about `size`. Three of the fillers suit only images. NetDraft::Filler
// draws them without their shape, and larger than deep nets bear.
void SetConvWeights(NetDraft* draft, const ConvWindows& windows, double size, DrawnFields* fields) {
  Draw& draw = draft->draw();
  const bool images = windows.size() == 2;
  DrawnFields filler(&draw);
  if (images && windows[0].kernel == windows[1].kernel && draw.Chance(0.1)) {
    filler.SetText("type", "bilinear").Set("scale", 2 * size * size);
    fields->Add(filler.In("weight_filler"));
  } else if (images && draw.Chance(0.06)) {
    fields->Add(filler.SetText("type", "gabor").Set("std", size).In("weight_filler"));
  } else if (images && draw.Chance(0.06)) {
    fields->Add(filler.SetText("type", "dirac").In("weight_filler"));
  } else {
    std::string text;
    const auto names = [&](const char* type) { return text.find(type) != std::string::npos; };
    do {
      text = draft->Filler("weight_filler", size);
    } while (names("bilinear") || names("gabor") || names("dirac"));
    fields->Add(text);
  }
}

// Returns the axis of the channels, usually 1, and adds the field.
int DrawConvAxis(Draw& draw, int rank, DrawnFields* fields) {
  const int axis = rank > 2 && draw.Chance(0.15) ? static_cast<int>(draw.Int(1, rank - 1)) : 1;
  fields->Maybe(axis == 1 ? 0.1 : 1, "axis", draw.Chance(0.3) ? axis - rank : axis);
  return axis;
}

int64_t DrawDivisor(Draw& draw, int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= number; ++i) {
    if (number % i == 0) divisors.push_back(i);
  }
  return draw.Of(divisors);
}

// A convolution layer while it is drawn.
class ConvDrawing {
 public:
  ConvDrawing(NetDraft* draft, const std::string& type, const DraftBlob& bottom)
      : draft_(draft),
        draw_(draft->draw()),
        layer_{type, {bottom.name}, 1, "", {}},
        bottom_(bottom),
        transposed_(type == "Deconvolution"),
        depthwise_(type != "Convolution" && !transposed_),
        fields_(&draw_),
        axis_(DrawConvAxis(draw_, bottom.shape.rank(), &fields_)),
        channels_(bottom.shape[axis_]),
        input_(bottom.shape.dims().begin() + axis_ + 1, bottom.shape.dims().end()) {}

  bool Add() {
    const bool sums = AddSummand();
    windows_ = sums ? ConvWindows(input_.size(), DrawKeepingWindow(draw_))
                    : DrawConvWindows(draw_, input_, transposed_, kMostConvKernel);
    SetConvWindows(draw_, windows_, &fields_);
    SetChannels(sums);
    SetParams();
    SetConvLibraries(&fields_);
    std::string relu_param;
    if (draw_.Chance(0.12)) {
      fields_.Set("relu", true).Maybe(0.5, "negative_slope", 0.125);
      if (draw_.Chance(0.3)) relu_param = " relu_param { negative_slope: 0.125 }";
    } else {
      fields_.Maybe(0.05, "relu", false);
      if (!sums && draw_.Chance(0.12)) AddPair();
    }
    layer_.fields = fields_.In("convolution_param") + relu_param;
    return draft_->Add(layer_);
  }

 private:
  // Makes it Intel Caffe's fusion with a sum, if there is a blob to add. Returns true if it does.
  bool AddSummand() {
    const std::optional<DraftBlob> other =
        draw_.Chance(0.1) ? draft_->SameShape(bottom_) : std::nullopt;
    if (other) {
      layer_.bottoms.push_back(other->name);
      fields_.Set("fusion_type", "SUM_FUSION");
    } else {
      fields_.Maybe(0.08, "fusion_type", "NONE_FUSION").Maybe(0.08, "coeff", draw_.Real(-1, 1));
    }
    return other.has_value();
  }

  // Adds a second bottom with the same weights.
  void AddPair() {
    const std::optional<DraftBlob> other = draft_->SameShape(bottom_);
    if (!other) return;
    layer_.bottoms.push_back(other->name);
    layer_.tops = 2;
  }

  void SetChannels(bool keep) {
    group_ = depthwise_ ? channels_ : draw_.Chance(0.3) ? DrawDivisor(draw_, channels_) : 1;
    int64_t outputs = draw_.Of<int64_t>({1, 2, 3, 5, 8, 16, 16, 17, 32, 33});
    if (group_ > 1) outputs = group_ * draw_.Int(1, std::max<int64_t>(1, 33 / group_));
    while (outputs > group_ && outputs * MacsOfOutput() > kMostConvMacs) outputs -= group_;
    if (keep) outputs = channels_;
    // The depthwise types have defaults for both fields.
    fields_.Maybe(depthwise_ && outputs == channels_ ? 0.5 : 1, "num_output", outputs);
    fields_.Maybe(depthwise_ ? 0.5 : group_ == 1 ? 0.1 : 1, "group", group_);
  }

  // Returns the multiply-adds of one output over the batch.
  int64_t MacsOfOutput() const {
    int64_t windows = bottom_.shape.count(0, axis_);
    for (size_t i = 0; i < input_.size(); ++i)
      windows *= transposed_ ? input_[i] : windows_[i].Windows(input_[i]);
    return windows * KernelCount() * channels_ / group_;
  }
  int64_t KernelCount() const { return ProductOf(EachOf(windows_, &ConvWindow::kernel)); }

  void SetParams() {
    int64_t terms = channels_ / group_ * KernelCount();
    // An element of a Deconvolution's top gets terms from so many windows only.
    if (transposed_)
      terms = std::max<int64_t>(1, terms / ProductOf(EachOf(windows_, &ConvWindow::stride)));
    SetConvWeights(draft_, windows_, 1 / std::sqrt(static_cast<double>(terms)), &fields_);
    const bool bias = draw_.Chance(0.75);
    fields_.Maybe(bias ? 0.1 : 1, "bias_term", bias);
    if (draw_.Chance(0.5)) fields_.Add(draft_->Filler("bias_filler", 0.1));
  }

  NetDraft* const draft_;
  Draw& draw_;
  NetDraft::Layer layer_;
  const DraftBlob bottom_;
  const bool transposed_, depthwise_;
  DrawnFields fields_;
  const int axis_;
  const int64_t channels_;
  const std::vector<int64_t> input_;
  ConvWindows windows_;
  int64_t group_ = 1;
};

bool DrawConvolutionType(NetDraft* draft, const char* type) {
  const std::optional<DraftBlob> bottom =
      draft->draw().Chance(0.75) ? draft->Images() : draft->Values(2, 5);
  return bottom && ConvDrawing(draft, type, *bottom).Add();
}

bool DrawConvolution(NetDraft* draft) { return DrawConvolutionType(draft, "Convolution"); }
bool DrawConvolutionDepthwise(NetDraft* draft) {
  return DrawConvolutionType(draft, "ConvolutionDepthwise");
}
bool DrawDepthwiseConvolution(NetDraft* draft) {
  return DrawConvolutionType(draft, "DepthwiseConvolution");
}
bool DrawDeconvolution(NetDraft* draft) { return DrawConvolutionType(draft, "Deconvolution"); }

// Also draws the fields that Convolution reads and Im2col does not.
bool DrawIm2col(NetDraft* draft) {
  Draw& draw = draft->draw();
  const std::optional<DraftBlob> bottom = draw.Chance(0.75) ? draft->Images() : draft->Values(3, 5);
  if (!bottom || bottom->shape[1] > kMostUnfolded) return false;
  DrawnFields fields(&draw);
  const Shape& shape = bottom->shape;
  const int axis = DrawConvAxis(draw, shape.rank(), &fields);
  const std::vector<int64_t> input(shape.dims().begin() + axis + 1, shape.dims().end());
  const double cells = static_cast<double>(kMostUnfolded) / static_cast<double>(shape[axis]);
  const double side = std::pow(cells, 1 / std::max(1.0, static_cast<double>(input.size())));
  const int64_t most = std::max<int64_t>(1, static_cast<int64_t>(side));
  SetConvWindows(draw, DrawConvWindows(draw, input, false, most), &fields);
  SetConvLibraries(&fields);
  fields.MaybeBool(0.1, "relu").Maybe(0.1, "negative_slope", 0.5).Maybe(0.1, "coeff", 2);
  fields.MaybeOneOf(0.1, "fusion_type", {"NONE_FUSION", "SUM_FUSION"});
  return draft->Add({"Im2col", {bottom->name}, 1, fields.In("convolution_param"), {}});
}

unsigned ConvolutionTraits(const LayerParameter& layer) {
  return layer.convolution_param().relu() ? unsigned{LayerRow::kKinks} : 0u;
}
// The oracle knows the fused layers of the usual types only.
unsigned DepthwiseTraits(const LayerParameter& layer) {
  const bool sums = layer.convolution_param().fusion_type() != ConvolutionParameter::NONE_FUSION;
  const unsigned traits = ConvolutionTraits(layer);
  return traits | (sums || traits != 0 ? unsigned{LayerRow::kNoOracle} : 0u);
}

LayerRow ConvolutionRow(bool (*draw)(NetDraft*), double weight) {
  return {draw, LayerRow::kKinks, weight, {}, LayerRow::kInner, &ConvolutionTraits};
}
LayerRow DepthwiseRow(bool (*draw)(NetDraft*)) {
  return {
      draw, LayerRow::kKinks | LayerRow::kNoOracle, 0.5, {}, LayerRow::kInner, &DepthwiseTraits};
}
DOPPIO_REGISTER(LayerRows, "Convolution", ConvolutionRow(&DrawConvolution, 4));
DOPPIO_REGISTER(LayerRows, "ConvolutionDepthwise", DepthwiseRow(&DrawConvolutionDepthwise));
DOPPIO_REGISTER(LayerRows, "DepthwiseConvolution", DepthwiseRow(&DrawDepthwiseConvolution));
DOPPIO_REGISTER(LayerRows, "Deconvolution", ConvolutionRow(&DrawDeconvolution, 1.5));
DOPPIO_REGISTER(LayerRows, "Im2col", {&DrawIm2col, 0, 0.7});

}  // namespace
}  // namespace doppio
