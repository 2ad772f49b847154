// Sums a net's losses on the host. The device continues with backward and update while the losses
// are copied.
#ifndef DOPPIO_CORE_NET_RUN_LOSS_READER_H_
#define DOPPIO_CORE_NET_RUN_LOSS_READER_H_

#include <memory>
#include <vector>

#include "core/device/device.h"
#include "core/net/plan/plan.h"

namespace doppio {

// Copies the losses of one net to the host and sums them. Not thread-safe.
class LossReader {
 public:
  LossReader() = default;
  // `terms` must outlive the reader. `devices` are those of the terms' plan.
  LossReader(const std::vector<Device*>& devices, const std::vector<LossTerm>& terms);

  // Starts the copy. Call after a forward pass. `scale` is the loss scale of the backward in which
  // the readers of losses set their weights.
  void Start(double scale);
  // Blocks until the copy is complete. Returns the weighted sum of the losses at the last Start.
  double Sum();

 private:
  double WeightOf(size_t i, const char* memory);

  const std::vector<LossTerm>* terms_ = nullptr;
  std::vector<std::unique_ptr<Download>> downloads_;  // per device; null without a loss there
  // Per device: the positions in the downloads while they are started and read.
  std::vector<int64_t> offsets_;
  std::vector<const char*> memory_;
  double scale_ = 1;
  std::vector<double> reader_weights_;  // per term: the last finite weight
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_LOSS_READER_H_
