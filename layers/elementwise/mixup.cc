// Mixup: in training, mixes neighbouring samples and their labels: by adding them, by pasting a
// part of one into the other (CutMix), or by either at random. Otherwise it passes the samples
// through and writes labels as class shares, so that one loss serves both phases.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/host_loops.h"
#include "layers/elementwise/mixup_ops.h"

namespace doppio {
namespace {

// Reads the layer's form. Samples are mixed in training, unless both alphas are 0.
MixupForm ReadMixup(const LayerSpec& spec, const Shape& data) {
  const MixupParameter& param = spec.param.mixup_param();
  const bool train = spec.phase() == TRAIN, pastes = param.cutmix_alpha() > 0;
  return {Random(spec.options.seed, Stream("mixup", spec.name())),
          Random(spec.options.seed, Stream("cutmix", spec.name())),
          static_cast<double>(param.alpha()),
          static_cast<double>(param.cutmix_alpha()),
          static_cast<double>(param.switch_prob()),
          train && (param.alpha() > 0 || pastes),
          data[0],
          data.count(1),
          static_cast<int64_t>(param.classes()),
          pastes ? data[2] : 1,
          pastes ? data[3] : 1,
          train ? static_cast<double>(param.label_smoothing()) : 0,
          train ? static_cast<double>(param.label_threshold()) : 0};
}

void CheckMixup(const LayerSpec& spec, const Shape& data) {
  const MixupParameter& param = spec.param.mixup_param();
  const std::string field = "mixup_param.";
  spec.RefuseIf(param.classes() < 2, field + "classes",
                "classes, the number of classes, must be given and at least 2");
  for (const auto& [name, alpha] :
       {std::pair("alpha", param.alpha()), std::pair("cutmix_alpha", param.cutmix_alpha())}) {
    spec.RefuseIf(!(alpha >= 0 && std::isfinite(alpha)), field + name, name, " is ", alpha,
                  "; it must be a finite number of at least 0");
  }
  spec.RefuseIf(!(param.switch_prob() >= 0 && param.switch_prob() <= 1), field + "switch_prob",
                "switch_prob is ", param.switch_prob(), "; it must be from 0 to 1");
  for (const auto& [name, part] : {std::pair("label_smoothing", param.label_smoothing()),
                                   std::pair("label_threshold", param.label_threshold())}) {
    spec.RefuseIf(!(part >= 0 && part < 1), field + name, name, " is ", part,
                  "; it must be at least 0 and less than 1");
  }
  spec.RefuseIf(param.label_smoothing() > 0 && param.label_threshold() > 0,
                field + "label_threshold",
                "label_threshold and label_smoothing cannot be combined; remove one of them");
  spec.RefuseIf(data.rank() < 1, "bottom", "bottom 0 is a scalar; Mixup needs a batch axis");
  spec.RefuseIf(param.cutmix_alpha() > 0 && data.rank() != 4, field + "cutmix_alpha",
                "CutMix pastes parts of images, but bottom 0 is ", data.ToString(),
                ", without 4 axes; remove cutmix_alpha");
}

LayerShape InferMixup(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape &data = bottoms[0], &labels = bottoms[1];
  CheckMixup(spec, data);
  spec.RefuseIf(labels.count() != data[0], {"bottom", 1}, "label '", spec.param.bottom(1), "' has ",
                labels.count(), " values (", labels.ToString(),
                "); Mixup needs one for each of the ", data[0], " samples");
  const MixupForm form = ReadMixup(spec, data);
  spec.RefuseIf(form.mixes && data[0] % 2 != 0, "bottom",
                "Mixup mixes samples in pairs, but a batch has ", data[0],
                " on each device; set an even batch_size");
  LayerShape shape;
  shape.form = form;
  shape.tops = {data, Shape{form.samples, form.classes}};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, true};
  shape.exact_tops = {false, true};
  return shape;
}

template <class T>
class Mixup : public FormKernel<MixupForm> {
 public:
  explicit Mixup(const KernelArgs& args) : FormKernel(args), at_(args.at) {}

  void Forward(const Pass& pass) override {
    MixRows(pass, BottomValues<T>(0), TopValues<T>(0));
    MixLabels(pass, BottomValues<T>(1), TopValues<T>(1));
  }

  // Mixing is symmetric, so a sample's gradient is mixed from the same two rows.
  void Backward(const Pass& pass, const std::vector<bool>&) override {
    T* dx = BottomGradient<T>(0);
    if (dx == nullptr) return;
    // If only the mixed labels are read, the data have no gradient.
    if (!t_.top_grads[0]) {
      std::fill_n(dx, t_.bottom_grads[0].count(), T(0));
      return;
    }
    MixRows(pass, TopGradient<T>(0), dx);
  }

 private:
  void MixRows(const Pass& pass, const T* from, T* to) const {
    const MixupForm form = form_;
    const uint64_t first = pass.FirstSample(form.samples);
    ForEachRow(form.samples, form.per_sample, [=](int64_t row, int64_t begin, int64_t end) {
      const Mixture mixture = form.Of(first + static_cast<uint64_t>(row));
      const double share = mixture.share;
      const T* other = from + (form.Partner(row) - row) * form.per_sample;
      if (mixture.pastes) return Paste(form, mixture, from + begin, other + begin, to + begin);
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) to[i] = Mixed(share, from[i], other[i]);
    });
  }

  // Copies the sample `own`, with the box of its partner `other`.
  static void Paste(const MixupForm& form, const Mixture& mixture, const T* own, const T* other,
                    T* to) {
    std::copy_n(own, form.per_sample, to);
    for (int64_t plane = 0; plane < form.per_sample; plane += form.height * form.width) {
      for (int64_t y = mixture.top; y < mixture.bottom; ++y) {
        const int64_t row = plane + y * form.width;
        std::copy(other + row + mixture.left, other + row + mixture.right, to + row + mixture.left);
      }
    }
  }

  void MixLabels(const Pass& pass, const T* labels, T* to) const {
    const uint64_t first = pass.FirstSample(form_.samples);
    for (int64_t row = 0; row < form_.samples; ++row) {
      const double share = form_.Of(first + static_cast<uint64_t>(row)).share;
      const int64_t own = ClassAt(labels, row), other = ClassAt(labels, form_.Partner(row));
      T* shares = to + row * form_.classes;
      for (int64_t c = 0; c < form_.classes; ++c)
        shares[c] = form_.Label(Mixed(share, T(c == own), T(c == other)));
    }
  }

  int64_t ClassAt(const T* labels, int64_t row) const {
    const int64_t found = form_.Class(labels[row]);
    if (found < 0) form_.Fail(at_, static_cast<double>(labels[row]), row, 1);
    return found;
  }

  const SourceLoc at_;
};

DOPPIO_REGISTER_LAYER("Mixup", LayerType(&InferMixup).Bottoms(2).Tops(2));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Mixup>("Mixup"));

}  // namespace
}  // namespace doppio
