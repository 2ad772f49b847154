// The gradient of InnerProduct's weights in slices of outputs, so that a large one never needs
// memory as a whole.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_GRADIENT_SLICES_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_GRADIENT_SLICES_H_

#include <algorithm>
#include <cstring>
#include <string>

#include "layers/common/dnnl_support.h"
#include "layers/inner_product/inner_product_choice.h"

namespace doppio {

// Computes slices with the kind of primitive that computes the whole gradient, so that the results
// are the same. A slice is contiguous in the layout of the weights.
class GradientSlices {
 public:
  GradientSlices() = default;
  // Takes scratch memory. Has no slices if the gradient is not larger than
  // args.gradient_slice_bytes, if its outputs are not contiguous, or if oneDNN would compute slices
  // in another way.
  GradientSlices(const InnerProductChoice& c, const KernelArgs& args, Carver* scratch) {
    if (args.gradient_slice_bytes <= 0 || !args.param_gradient[0]) return;
    if (c.params.diff_weights_desc() != c.kept) return;
    for (bool may_add : args.param_may_add) {
      if (may_add) return;
    }
    const Blocking whole = BlockingOf(c.kept);
    const int64_t outputs = whole.dims[0], inputs = whole.dims[1];
    int64_t block = 1;  // outputs that only together are contiguous
    for (size_t i = 0; i < whole.inner_blocks.size(); ++i) {
      if (whole.inner_axes[i] == 0) block *= whole.inner_blocks[i];
    }
    if (whole.padded_dims != whole.dims || whole.strides[0] != block * inputs) return;
    const int64_t unit = (kLeastOutputs + block - 1) / block * block;
    const int64_t fit = args.gradient_slice_bytes / (inputs * kBytesOf<float>);
    const int64_t count = fit / unit * unit;
    if (count == 0 || fit >= outputs) return;
    try {
      full_ = Part(c, args, count, scratch);
      last_ = Part(c, args, (outputs - 1) % count + 1, scratch);
    } catch (const dnnl::error&) {
      return;  // oneDNN cannot compute a slice in this layout
    }
    const std::string kind = c.params.impl_info_str();
    if (full_.kind != kind || last_.kind != kind) return;
    outputs_ = outputs;
    rows_ = args.Form<InnerProductForm>().rows;
    elements_ = count * inputs;
  }

  // Returns the stored elements of a slice, or 0 if there are no slices.
  int64_t elements() const { return elements_; }

  // Sets the factors that the primitives read, and the gradients that they write.
  void Bind(const dnnl::memory& x, const dnnl::memory& dy, void* weights, float* bias,
            void* scratch) {
    dy_ = static_cast<const char*>(dy.get_data_handle());
    row_bytes_ = static_cast<int64_t>(dy.get_desc().get_size()) / rows_;
    bias_ = bias;
    full_.Bind(x, weights, scratch);
    last_.Bind(x, weights, scratch);
  }

  // Writes a slice of the gradient of the weights and, if there is one, that of the bias.
  void Run(int64_t slice) {
    const int64_t first = slice * full_.outputs, bytes = row_bytes_ / outputs_;
    Part& part = first + full_.outputs < outputs_ ? full_ : last_;
    char* to = static_cast<char*>(part.args[DNNL_ARG_DIFF_DST].get_data_handle());
    for (int64_t row = 0; row < rows_; ++row) {
      std::memcpy(to + row * part.outputs * bytes, dy_ + row * row_bytes_ + first * bytes,
                  static_cast<size_t>(part.outputs * bytes));
    }
    if (bias_ != nullptr) part.args[DNNL_ARG_DIFF_BIAS].set_data_handle(bias_ + first);
    Execute(part.step.primitive, part.args);
  }

 private:
  using Desc = dnnl::memory::desc;

  // The primitive for a number of outputs.
  struct Part {
    Part() = default;
    Part(const InnerProductChoice& c, const KernelArgs& args, int64_t count, Carver* scratch)
        : outputs(count) {
      Blocking slice = BlockingOf(c.kept);
      slice.dims[0] = slice.padded_dims[0] = count;
      weights = DescOf(slice);
      dy = PlainDesc(Shape{args.Form<InnerProductForm>().rows, count}, c.params_type);
      if (!c.bias.is_zero()) bias = PlainDesc(Shape{count});
      const auto desc = c.DescribeParams(args, dy, weights, bias);
      kind = desc.impl_info_str();
      step = DnnlStep(dnnl::inner_product_backward_weights(desc), desc, scratch);
      dy_offset = scratch->Take(dy);
      bias_offset = scratch->Take(bias);
    }
    void Bind(const dnnl::memory& x, void* gradient, void* scratch) {
      args = {{DNNL_ARG_SRC, x},
              {DNNL_ARG_DIFF_DST, MemoryAt(dy, At(scratch, dy_offset))},
              {DNNL_ARG_DIFF_WEIGHTS, MemoryAt(weights, gradient)},
              {DNNL_ARG_SCRATCHPAD, step.ScratchpadAt(scratch)}};
      if (!bias.is_zero())
        args.emplace(DNNL_ARG_DIFF_BIAS, MemoryAt(bias, At(scratch, bias_offset)));
    }

    int64_t outputs = 0;
    Desc dy, weights, bias;
    std::string kind;
    DnnlStep step;
    int64_t dy_offset = 0, bias_offset = 0;
    DnnlArgs args;
  };

  static constexpr int64_t kLeastOutputs = 64;  // of a slice but the last

  Part full_, last_;
  int64_t outputs_ = 0, rows_ = 0;
  int64_t elements_ = 0;
  const char* dy_ = nullptr;
  int64_t row_bytes_ = 0;  // of dy
  float* bias_ = nullptr;  // null: the bias's gradient is not wanted
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_GRADIENT_SLICES_H_
