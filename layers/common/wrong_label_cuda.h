// Reports the first label that is not a class, or index that is not a row, from a GPU kernel. The
// GPU writes this label to a word of pinned host memory, so that the host never waits for the GPU.
// The error is therefore thrown by the first Forward that begins after the GPU has found the label,
// usually one or two passes later.
#ifndef DOPPIO_LAYERS_COMMON_WRONG_LABEL_CUDA_H_
#define DOPPIO_LAYERS_COMMON_WRONG_LABEL_CUDA_H_

#include <cstdint>
#include <cstring>

#include "core/device/device_cuda.h"
#include "layers/common/labels.h"

namespace doppio {

// The index (upper 32 bits) and the value (lower 32 bits) of a label in one word, which the GPU
// writes in one store. The smallest word is the first label.
using WrongLabelWord = uint64_t;
constexpr WrongLabelWord kNoWrongLabel = ~WrongLabelWord{0};

// Returns the word for a label.
DOPPIO_HD inline WrongLabelWord PackWrongLabel(int64_t index, float label) {
  uint32_t bits;
  memcpy(&bits, &label, sizeof bits);
  return (static_cast<WrongLabelWord>(index) << 32) | bits;
}

// The word in host memory. Must not outlive the device.
class WrongLabel {
 public:
  explicit WrongLabel(Device* device) : memory_(device, sizeof(WrongLabelWord)) {
    *word() = kNoWrongLabel;
  }

  // Returns the word for kernels to write.
  WrongLabelWord* word() const { return static_cast<WrongLabelWord*>(memory_.data()); }

  // Throws UserError if the GPU has reported a wrong label, and clears the report. `reader`, which
  // makes the error, is a LabelReader, or an IndexReader (layers/common/row_index.h) with an
  // `inner` of 1.
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

#endif  // DOPPIO_LAYERS_COMMON_WRONG_LABEL_CUDA_H_
