// What a kernel is that hands something from one forward pass to the next: the hidden state of RNN
// and LSTM. Each net, on each rank, has its own; snapshots keep it, so that a resumed run goes on
// in the middle of a sequence.
#ifndef DOPPIO_CORE_NET_RUN_CARRIED_STATE_H_
#define DOPPIO_CORE_NET_RUN_CARRIED_STATE_H_

#include <algorithm>
#include <vector>

#include "core/net/plan/kernel.h"
#include "core/net/store/plain_blob.h"

namespace doppio {

class CarriesState {
 public:
  virtual ~CarriesState() = default;
  // What the next Forward starts from, always as many blobs of the same shapes; none where the
  // net's user gives it instead. Not inside an iteration.
  virtual std::vector<PlainBlob> State() const = 0;
  // Such blobs.
  virtual void SetState(const std::vector<PlainBlob>& state) = 0;
};

// Null for a kernel that carries nothing.
inline CarriesState* StateOf(Kernel* kernel) {
  return kernel == nullptr ? nullptr : dynamic_cast<CarriesState*>(InnermostKernel(kernel));
}

// As a net starts.
inline void ForgetState(CarriesState* carrying) {
  std::vector<PlainBlob> blobs = carrying->State();
  for (PlainBlob& blob : blobs) std::fill(blob.data.begin(), blob.data.end(), 0.f);
  carrying->SetState(blobs);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_CARRIED_STATE_H_
