// Where a kernel on a GPU reports the first label that is no class, or index that is no row: a word
// of host memory that the GPU writes, so that nobody waits for the GPU to look. The error therefore
// comes with the first Forward that begins after the GPU has met it, usually the next one or the
// one after it.
#ifndef DOPPIO_LAYERS_LOSS_WRONG_LABEL_CUDA_H_
#define DOPPIO_LAYERS_LOSS_WRONG_LABEL_CUDA_H_

#include <cstdint>
#include <cstring>

#include "core/device/device_cuda.h"
#include "layers/loss/labels.h"

namespace doppio {

// Its index and value in one word, which is written at once; the smallest word is the first label.
using WrongLabelWord = uint64_t;
constexpr WrongLabelWord kNoWrongLabel = ~WrongLabelWord{0};

DOPPIO_HD inline WrongLabelWord PackWrongLabel(int64_t index, float label) {
  uint32_t bits;
  memcpy(&bits, &label, sizeof bits);
  return (static_cast<WrongLabelWord>(index) << 32) | bits;
}

class WrongLabel {
 public:
  explicit WrongLabel(Device* device) : memory_(device, sizeof(WrongLabelWord)) {
    *word() = kNoWrongLabel;
  }

  // For kernels to write.
  WrongLabelWord* word() const { return static_cast<WrongLabelWord*>(memory_.data()); }

  // `reader` says what is wrong with it: a LabelReader, or an IndexReader
  // (layers/common/row_index.h) with an `inner` of 1.
  template <class Reader>
  void ThrowIfAny(const Reader& reader, const SourceLoc& at, int64_t inner) {
    const WrongLabelWord found = *static_cast<volatile WrongLabelWord*>(word());
    if (found == kNoWrongLabel) return;
    *word() = kNoWrongLabel;
    const uint32_t bits = static_cast<uint32_t>(found);
    float label;
    std::memcpy(&label, &bits, sizeof label);
    reader.Fail(at, static_cast<double>(label), static_cast<int64_t>(found >> 32), inner);
  }

 private:
  PinnedBuffer memory_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_WRONG_LABEL_CUDA_H_
