// Lets a program pass its samples to a net. The kernels of MemoryData layers implement this
// interface.
//   FindMemorySource(net, "data").SetSamples(images.data(), labels.data(), count);
#ifndef DOPPIO_CORE_NET_CONTRACT_MEMORY_SOURCE_H_
#define DOPPIO_CORE_NET_CONTRACT_MEMORY_SOURCE_H_

#include <cstdint>

namespace doppio {

// A source whose samples the calling program provides.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Makes the net read these samples, in this order, in an endless loop. `data` has channels x
  // height x width numbers per sample, `labels` one number per sample. Does not copy: both arrays
  // must stay valid and unchanged until the next call of SetSamples, or as long as the net exists.
  // `samples` is at least 1; batches continue from the last sample with the first. The first
  // samples given start where a snapshot stopped, later ones at sample 0. All ranks must get the
  // same samples; each rank reads its share.
  virtual void SetSamples(const float* data, const float* labels, int64_t samples) = 0;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_MEMORY_SOURCE_H_
