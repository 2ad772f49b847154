// Input, whose tops the caller fills, and DummyData, whose tops are filled by fillers.
#include <algorithm>
#include <functional>

#include "core/base/random.h"
#include "core/net/contract/layer.h"
#include "core/net/graph/filler.h"
#include "layers/common/accelerator_kernel.h"
#include "layers/common/forward_only.h"

namespace doppio {
namespace {

// Returns the index of the value for top `top` among `count` given values: one value for all tops,
// or one per top.
int IndexFor(int count, int top) { return count == 1 ? 0 : top; }

// Throws UserError unless a field is given once, once per top or, with none_is_allowed, never.
void CheckCount(const LayerSpec& spec, const std::string& field, const std::string& what, int count,
                bool none_is_allowed = false) {
  const int tops = spec.param.top_size();
  spec.RefuseIf(!(count == 1 || count == tops || (count == 0 && none_is_allowed)), field, what,
                " is given ", count, " times for ", tops, " top(s); give one for all, or one each");
}

// Returns the shape `given`, value number `index` of `field`. Throws UserError for extents below 1.
Shape ShapeFrom(const LayerSpec& spec, const std::string& field, const BlobShape& given,
                int index) {
  Shape shape;
  for (int64_t dim : given.dim()) {
    spec.RefuseIf(dim < 1, {field, index}, "dim ", dim, "; an extent must be at least 1");
    shape.push_back(dim);
  }
  return shape;
}

// ---- Input -------------------------------------------------------------------------------------

LayerShape InferInput(const LayerSpec& spec, const std::vector<Shape>&) {
  const InputParameter& param = spec.param.input_param();
  spec.RefuseIf(param.shape_size() == 0, "input_param",
                "has no shape; write input_param { shape { dim: ... } }");
  CheckCount(spec, "input_param.shape", "shape", param.shape_size());
  std::vector<Shape> tops;
  for (int i = 0; i < spec.param.top_size(); ++i) {
    const int index = IndexFor(param.shape_size(), i);
    tops.push_back(ShapeFrom(spec, "input_param.shape", param.shape(index), index));
  }
  LayerShape shape = ForwardOnly(std::move(tops));
  shape.persistent_tops = true;
  return shape;
}

// The device zeroes the memory of the tops once, and the caller writes to it. Used on all devices.
class InputKernel : public Kernel {
 public:
  explicit InputKernel(const KernelArgs&) {}
  void Forward(const Pass&) override {}
};

// ---- DummyData ---------------------------------------------------------------------------------

// Returns the shape of a top, from `shape` or from the older num, channels, height and width.
Shape DummyShape(const LayerSpec& spec, int top) {
  const DummyDataParameter& param = spec.param.dummy_data_param();
  if (param.shape_size() > 0) {
    const int index = IndexFor(param.shape_size(), top);
    return ShapeFrom(spec, "dummy_data_param.shape", param.shape(index), index);
  }
  BlobShape old;
  for (const auto* dims : {&param.num(), &param.channels(), &param.height(), &param.width()}) {
    old.add_dim(dims->Get(IndexFor(dims->size(), top)));
  }
  return ShapeFrom(spec, "dummy_data_param", old, 0);
}

// Returns the filler of a top; the default is the constant 0.
FillerParameter DummyFiller(const LayerSpec& spec, int top) {
  const auto& fillers = spec.param.dummy_data_param().data_filler();
  return fillers.empty() ? FillerParameter() : fillers.Get(IndexFor(fillers.size(), top));
}

bool IsConstant(const FillerParameter& filler) { return filler.type() == "constant"; }

// Throws UserError for fields that contradict each other or are missing.
void CheckDummyFields(const LayerSpec& spec) {
  const DummyDataParameter& param = spec.param.dummy_data_param();
  const std::string message = "dummy_data_param";
  CheckCount(spec, message + ".data_filler", "data_filler", param.data_filler_size(), true);
  const bool old =
      param.num_size() + param.channels_size() + param.height_size() + param.width_size() > 0;
  spec.RefuseIf(old && param.shape_size() > 0, message + ".shape",
                "both shape and the old num, channels, height, width are given; keep shape");
  spec.RefuseIf(!old && param.shape_size() == 0, message,
                "has no shape; write dummy_data_param { shape { dim: ... } }");
  if (!old) {
    CheckCount(spec, message + ".shape", "shape", param.shape_size());
    return;
  }
  CheckCount(spec, message + ".num", "num", param.num_size());
  CheckCount(spec, message + ".channels", "channels", param.channels_size());
  CheckCount(spec, message + ".height", "height", param.height_size());
  CheckCount(spec, message + ".width", "width", param.width_size());
}

// Fills one top of DummyData.
struct DummyTop {
  bool constant;
  // Calls Fill (core/net/graph/filler.h) with the filler and the shape of this top.
  std::function<void(uint64_t seed, uint64_t stream, const Tensor& out, uint64_t first_row,
                     int parts)>
      fill;
};

struct DummyDataForm {
  std::vector<DummyTop> tops;
};

LayerShape InferDummyData(const LayerSpec& spec, const std::vector<Shape>&) {
  CheckDummyFields(spec);
  std::vector<Shape> tops;
  DummyDataForm form;
  bool any_constant = false;
  for (int i = 0; i < spec.param.top_size(); ++i) {
    tops.push_back(DummyShape(spec, i));
    const FillerParameter filler = DummyFiller(spec, i);
    any_constant = any_constant || IsConstant(filler);
    try {
      CheckFiller(filler, tops.back(), spec.options.shares * spec.options.microbatches);
    } catch (const UserError& e) {
      throw spec.Mistake("dummy_data_param.data_filler", e.message(),
                         IndexFor(spec.param.dummy_data_param().data_filler_size(), i));
    }
    form.tops.push_back({IsConstant(filler), [filler, shape = tops.back()](
                                                 uint64_t seed, uint64_t stream, const Tensor& out,
                                                 uint64_t first_row, int parts) {
                           Fill(filler, shape, seed, stream, out, first_row, parts);
                         }});
  }
  LayerShape shape = ForwardOnly(std::move(tops));
  shape.persistent_tops = any_constant;
  shape.form = std::move(form);
  return shape;
}

class DummyDataKernel : public Kernel {
 public:
  explicit DummyDataKernel(const KernelArgs& args)
      : device_(args.device), seed_(args.seed), tops_(args.Form<DummyDataForm>().tops) {
    for (size_t i = 0; i < tops_.size(); ++i)
      streams_.push_back(Stream("dummy_data", args.layer, static_cast<int>(i)));
  }

  // As in Caffe, constants are written once, and all other values are drawn in each pass. The
  // random numbers of a row depend on the row's number in the whole run, and fillers that depend on
  // the number of rows see those of all ranks, so that the ranks write the rows of one big batch.
  void Forward(const Pass& pass) override {
    for (size_t i = 0; i < tops_.size(); ++i) {
      if (filled_ && tops_[i].constant) continue;
      Write(i, pass.FirstSample(t_.tops[i].shape.dim_or_1(0)), pass.parts());
    }
    filled_ = true;
  }

 private:
  // Fills top i. Random numbers are drawn on the host, then copied to the device.
  void Write(size_t i, uint64_t first_row, int parts) {
    const Tensor& top = t_.tops[i];
    if (device_->properties.host_memory)
      return tops_[i].fill(seed_, streams_[i], top, first_row, parts);
    drawn_.resize(std::max(drawn_.size(), static_cast<size_t>(top.bytes())));
    tops_[i].fill(seed_, streams_[i], Tensor(top, drawn_.data()), first_row, parts);
    device_->CopyFromHost(top.raw, drawn_.data(), top.bytes());
  }

  Device* const device_;
  const uint64_t seed_;
  const std::vector<DummyTop> tops_;
  std::vector<uint64_t> streams_;
  std::vector<char> drawn_;
  bool filled_ = false;
};

DOPPIO_REGISTER_LAYER("Input", LayerType(&InferInput)
                                   .Bottoms(0)
                                   .Tops(1, kAny)
                                   .TakesInput()
                                   .BatchFields({"input_param.shape"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel("Input", &MakeKernel<InputKernel>));
DOPPIO_REGISTER_KERNEL(AcceleratorKernel<InputKernel>("Input").Declines(nullptr));
DOPPIO_REGISTER_LAYER("DummyData",
                      LayerType(&InferDummyData)
                          .Bottoms(0)
                          .Tops(1, kAny)
                          .BatchFields({"dummy_data_param.shape", "dummy_data_param.num"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel("DummyData", &MakeKernel<DummyDataKernel>));
DOPPIO_REGISTER_KERNEL(AcceleratorKernel<DummyDataKernel>("DummyData").Declines(nullptr));

}  // namespace
}  // namespace doppio
