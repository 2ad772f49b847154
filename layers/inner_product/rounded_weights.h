// The weights of a product in the layout and type that a oneDNN primitive reads.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_ROUNDED_WEIGHTS_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_ROUNDED_WEIGHTS_H_

#include <algorithm>

#include "core/tensor/half.h"
#include "layers/common/dnnl_support.h"

namespace doppio {

// Inputs in a block of float32 weights, and pairs of inputs in a block of bfloat16 weights.
constexpr int64_t kInputsPerBlock = 16;

// Returns the layout of bfloat16 weights to which RoundedWeights rounds fastest, or an empty
// descriptor if there is none. oneDNN keeps float32 weights in blocks of 16 inputs x n outputs, and
// reads bfloat16 weights in blocks of 16 pairs of inputs x n outputs x 2.
inline dnnl::memory::desc PairedDesc(const dnnl::memory::desc& kept) {
  Blocking blocking = BlockingOf(kept);
  if (blocking.inner_axes != Blocking::Dims{1, 0}) return dnnl::memory::desc();
  const int64_t outputs = blocking.inner_blocks[1], block = kInputsPerBlock * outputs;
  if (blocking.inner_blocks[0] != kInputsPerBlock || blocking.strides[1] != block)
    return dnnl::memory::desc();
  constexpr int64_t kWhole = 2 * kInputsPerBlock;
  blocking.padded_dims[1] = (blocking.padded_dims[1] + kWhole - 1) / kWhole * kWhole;
  blocking.AddInner(2, 1);
  blocking.strides = {blocking.padded_dims[1] * outputs, 2 * block};
  const dnnl::memory::desc desc = DescOf(blocking);
  return desc.is_zero() ? desc : WithType(desc, DType::kBFloat16);
}

// Like InputReader, but rounds to the layout of PairedDesc faster than oneDNN.
class RoundedWeights {
 public:
  RoundedWeights() = default;
  RoundedWeights(const dnnl::memory::desc& kept, const dnnl::memory::desc& wanted, Carver* memory)
      : reader_(kept, wanted, memory) {
    if (wanted.is_zero() || wanted != PairedDesc(kept)) return;
    const Blocking from = BlockingOf(kept), to = BlockingOf(wanted);
    outputs_ = from.inner_blocks[1];
    output_blocks_ = to.padded_dims[0] / outputs_;
    pairs_ = from.padded_dims[1] / 2;
    input_blocks_ = to.padded_dims[1] / (2 * kInputsPerBlock);
    from_stride_ = from.strides[0];
    to_stride_ = to.strides[0];
  }

  void Bind(void* weights, void* memory) {
    reader_.Bind(weights, memory);
    weights_ = static_cast<const float*>(weights);
  }
  const dnnl::memory& memory() const { return reader_.memory(); }

  // Writes memory().
  void Prepare() const {
    if (outputs_ == 0) return reader_.Prepare();
    uint16_t* to = static_cast<uint16_t*>(reader_.memory().get_data_handle());
    ParallelForEach(output_blocks_ * input_blocks_, 4, [this, to](int64_t i) {
      RoundBlock(i / input_blocks_, i % input_blocks_, to);
    });
  }

 private:
  // Rounds a block of `all`, which has kInputsPerBlock pairs. Pairs beyond the last input are
  // zeros.
  void RoundBlock(int64_t output, int64_t input, uint16_t* all) const {
    const int64_t n = outputs_, first = input * kInputsPerBlock;
    const float* from = weights_ + output * from_stride_ + first * 2 * n;
    uint16_t* to = all + output * to_stride_ + first * 2 * n;
    const int64_t present = std::min(kInputsPerBlock, pairs_ - first);
    for (int64_t pair = 0; pair < present; ++pair, from += 2 * n, to += 2 * n) {
      for (int64_t i = 0; i < n; ++i) {
        to[2 * i] = half_bits::RoundToBFloat16(from[i]);
        to[2 * i + 1] = half_bits::RoundToBFloat16(from[n + i]);
      }
    }
    std::fill(to, to + (kInputsPerBlock - present) * 2 * n, uint16_t{0});
  }

  InputReader reader_;
  const float* weights_ = nullptr;
  int64_t outputs_ = 0;  // per block; 0: oneDNN reorders
  int64_t output_blocks_ = 0, input_blocks_ = 0;
  int64_t pairs_ = 0;                        // of inputs, with padding
  int64_t from_stride_ = 0, to_stride_ = 0;  // from one block of outputs to the next
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_ROUNDED_WEIGHTS_H_
