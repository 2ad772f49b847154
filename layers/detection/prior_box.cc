// PriorBox on all devices. The values depend only on the shapes of the bottoms, so the kernels
// compute them once, on the host.
#include "layers/detection/prior_box_form.h"

#include <cmath>
#include <string>

#include "core/math/tensor_ops.h"
#include "core/net/contract/layer.h"
#include "layers/common/accelerator_kernel.h"
#include "layers/common/forward_only.h"

namespace doppio {
namespace {

constexpr char kPriorBoxPath[] = "prior_box_param.";

// Throws UserError for value number `index` of the field `name` unless it is positive.
void CheckPositivePriorBox(const LayerSpec& spec, const std::string& name, double value,
                           int index = 0) {
  spec.RefuseIf(!(value > 0), {kPriorBoxPath + name, index}, name, " is ", value,
                "; give a positive number");
}

// Returns the aspect ratios other than 1, each once.
std::vector<double> PriorBoxRatios(const LayerSpec& spec) {
  const PriorBoxParameter& p = spec.param.prior_box_param();
  std::vector<double> ratios;
  const auto add = [&](double ratio) {
    const auto same = [=](double known) { return std::fabs(known - ratio) < 1e-6; };
    if (same(1) || std::any_of(ratios.begin(), ratios.end(), same)) return false;
    ratios.push_back(ratio);
    return true;
  };
  for (int i = 0; i < p.aspect_ratio_size(); ++i) {
    CheckPositivePriorBox(spec, "aspect_ratio", static_cast<double>(p.aspect_ratio(i)), i);
    if (add(static_cast<double>(p.aspect_ratio(i))) && p.flip()) {
      ratios.push_back(1 / static_cast<double>(p.aspect_ratio(i)));
    }
  }
  return ratios;
}

// Returns the boxes of one position. Throws UserError for wrong sizes.
std::vector<PriorBoxForm::Size> PriorBoxSizes(const LayerSpec& spec) {
  const PriorBoxParameter& p = spec.param.prior_box_param();
  spec.RefuseIf(p.min_size_size() == 0, std::string(kPriorBoxPath) + "min_size",
                "PriorBox needs a min_size, in pixels");
  spec.RefuseIf(p.max_size_size() != 0 && p.max_size_size() != p.min_size_size(),
                std::string(kPriorBoxPath) + "max_size", "there are ", p.max_size_size(),
                " max_size, but ", p.min_size_size(), " min_size; give one for each, or none");
  const std::vector<double> ratios = PriorBoxRatios(spec);
  std::vector<PriorBoxForm::Size> boxes;
  for (int i = 0; i < p.min_size_size(); ++i) {
    const double least = std::trunc(static_cast<double>(p.min_size(i)));
    spec.RefuseIf(!(least >= 1), {std::string(kPriorBoxPath) + "min_size", i},
                  "min_size is truncated to whole pixels; give at least 1");
    boxes.push_back({least, least});
    if (p.max_size_size() > 0) {
      spec.RefuseIf(!(p.max_size(i) > p.min_size(i)), {std::string(kPriorBoxPath) + "max_size", i},
                    "max_size must be larger than its min_size");
      const double size = std::sqrt(least * std::trunc(static_cast<double>(p.max_size(i))));
      boxes.push_back({size, size});
    }
    for (double ratio : ratios)
      boxes.push_back({least * std::sqrt(ratio), least / std::sqrt(ratio)});
  }
  return boxes;
}

// Returns the four variances of a box. One variance in the file is used for all four; the default
// is 0.1.
std::vector<float> PriorBoxVariance(const LayerSpec& spec) {
  const PriorBoxParameter& p = spec.param.prior_box_param();
  for (int i = 0; i < p.variance_size(); ++i)
    CheckPositivePriorBox(spec, "variance", static_cast<double>(p.variance(i)), i);
  if (p.variance_size() == 4) return {p.variance().begin(), p.variance().end()};
  spec.RefuseIf(p.variance_size() > 1, std::string(kPriorBoxPath) + "variance",
                "give one variance, or four: two for the position, then two for the size");
  return std::vector<float>(4, p.variance_size() == 1 ? p.variance(0) : 0.1f);
}

// Returns true if the file gives `both`, or `h` and `w`. Returns false if it gives none of them.
// Throws UserError for other combinations.
bool ReadPriorBoxPair(const LayerSpec& spec, const std::string& both, const std::string& h,
                      const std::string& w, bool has_both, bool has_h, bool has_w) {
  spec.RefuseIf(has_h != has_w, kPriorBoxPath + (has_h ? h : w), h, " and ", w, " are both needed");
  spec.RefuseIf(has_both && has_h, kPriorBoxPath + both, "give ", both, ", or ", h, " and ", w);
  return has_both || has_h;
}

PriorBoxForm ReadPriorBox(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PriorBoxParameter& p = spec.param.prior_box_param();
  for (int i = 0; i < 2; ++i) {
    const Shape& bottom = bottoms[i];
    spec.RefuseIf(bottom.rank() != 4, {"bottom", i},
                  "PriorBox needs a feature map and the images, both of 4 axes; '",
                  spec.param.bottom(i), "' is ", bottom.ToString());
  }
  PriorBoxForm form;
  form.boxes = PriorBoxSizes(spec);
  form.variance = PriorBoxVariance(spec);
  form.rows = bottoms[0][2];
  form.columns = bottoms[0][3];
  form.offset = static_cast<double>(p.offset());
  form.clip = p.clip();
  form.image_height = static_cast<double>(bottoms[1][2]);
  form.image_width = static_cast<double>(bottoms[1][3]);
  if (ReadPriorBoxPair(spec, "img_size", "img_h", "img_w", p.has_img_size(), p.has_img_h(),
                       p.has_img_w())) {
    form.image_height = p.has_img_size() ? p.img_size() : p.img_h();
    form.image_width = p.has_img_size() ? p.img_size() : p.img_w();
    CheckPositivePriorBox(spec, p.has_img_size() ? "img_size" : "img_h", form.image_height);
    CheckPositivePriorBox(spec, p.has_img_size() ? "img_size" : "img_w", form.image_width);
  }
  form.step_h = form.image_height / static_cast<double>(form.rows);
  form.step_w = form.image_width / static_cast<double>(form.columns);
  if (ReadPriorBoxPair(spec, "step", "step_h", "step_w", p.has_step(), p.has_step_h(),
                       p.has_step_w())) {
    form.step_h = static_cast<double>(p.has_step() ? p.step() : p.step_h());
    form.step_w = static_cast<double>(p.has_step() ? p.step() : p.step_w());
    CheckPositivePriorBox(spec, p.has_step() ? "step" : "step_h", form.step_h);
    CheckPositivePriorBox(spec, p.has_step() ? "step" : "step_w", form.step_w);
  }
  return form;
}

LayerShape InferPriorBox(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const PriorBoxForm form = ReadPriorBox(spec, bottoms);
  return ForwardOnly({{1, 2, 4 * form.count()}}, form);
}

template <class T>
class PriorBox : public Kernel {
 public:
  explicit PriorBox(const KernelArgs& args) : values_(args.Form<PriorBoxForm>().Values<T>()) {}

  void Forward(const Pass&) override { std::copy(values_.begin(), values_.end(), TopValues<T>(0)); }

 private:
  const std::vector<T> values_;
};

// Keeps the values in device memory and copies them to the top in each pass.
class AcceleratorPriorBox : public FormKernel<PriorBoxForm> {
 public:
  explicit AcceleratorPriorBox(const KernelArgs& args)
      : FormKernel(args), ops_(OpsOf(args.device)) {
    needs_.kept_bytes = args.top_shapes[0].count() * static_cast<int64_t>(sizeof(float));
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    const std::vector<float> values = form_.Values<float>();
    values_ = Buffer(device_, needs_.kept_bytes);
    device_->CopyFromHost(values_.data(), values.data(), needs_.kept_bytes);
  }

  void Forward(const Pass&) override { ops_.Copy(Tensor(t_.tops[0], values_.data()), t_.tops[0]); }
  bool same_every_pass() const override { return true; }

 private:
  const TensorOps& ops_;
  Buffer values_;
};

DOPPIO_REGISTER_LAYER("PriorBox", LayerType(&InferPriorBox).Bottoms(2).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<PriorBox>("PriorBox"));
DOPPIO_REGISTER_KERNEL(AcceleratorKernel<AcceleratorPriorBox>("PriorBox"));

}  // namespace
}  // namespace doppio
