// Where a program hands its samples to a net: what a kernel of layer MemoryData is.
//   FindMemorySource(net, "data").Give(images.data(), labels.data(), count);
#ifndef DOPPIO_CORE_NET_RUN_MEMORY_SOURCE_H_
#define DOPPIO_CORE_NET_RUN_MEMORY_SOURCE_H_

#include <cstdint>
#include <string>

namespace doppio {

class Net;

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // From now on the net sees these samples in this order, over and over: `data` has their channels
  // x height x width numbers one after the other, `labels` one number each. Nothing is copied: both
  // stay as they are until others are given, or the net ends. Any number from 1 on; batches run on
  // over the end. The samples first given are begun where a snapshot left off, later ones at sample
  // 0. Ranks are given the same samples and take their shares of them.
  virtual void Give(const float* data, const float* labels, int64_t samples) = 0;
};

// That of the layer with this name. Throws UserError when no layer MemoryData is called so, or when
// it makes synthetic data.
MemorySource& FindMemorySource(const Net& net, const std::string& layer);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_MEMORY_SOURCE_H_
