// Kernels that carry a state from one forward pass to the next, such as the hidden state of RNN and
// LSTM or the counts of SegAccuracy. Each net on each rank has its own states. Snapshots save them,
// so that a resumed run continues in the middle of a sequence. The layer has Feature::kState.
#ifndef DOPPIO_CORE_NET_CONTRACT_CARRIED_STATE_H_
#define DOPPIO_CORE_NET_CONTRACT_CARRIED_STATE_H_

#include <algorithm>
#include <vector>

#include "core/net/contract/kernel.h"
#include "core/net/contract/plain_blob.h"

namespace doppio {

// Interface of kernels that carry a state.
class CarriesState {
 public:
  virtual ~CarriesState() = default;
  // Returns the state from which the next Forward starts. The number and shapes of the blobs never
  // change. Returns no blobs if the net's user provides the state. Must not be called within an
  // iteration.
  virtual std::vector<PlainBlob> State() const = 0;
  // Sets the state. `state` has the shapes that State() returns.
  virtual void SetState(const std::vector<PlainBlob>& state) = 0;
};

// Returns the state of a kernel, or null for a kernel that carries none.
inline CarriesState* StateOf(Kernel* kernel) { return Capability<CarriesState>(kernel); }

// Sets the state to zeros, as in a new net.
inline void ResetState(CarriesState* carrying) {
  std::vector<PlainBlob> blobs = carrying->State();
  for (PlainBlob& blob : blobs) std::fill(blob.data.begin(), blob.data.end(), 0.f);
  carrying->SetState(blobs);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_CARRIED_STATE_H_
