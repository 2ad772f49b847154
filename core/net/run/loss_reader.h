// Adds up a net's losses on the host. The device goes on with backward and update while they are on
// their way.
#ifndef DOPPIO_CORE_NET_RUN_LOSS_READER_H_
#define DOPPIO_CORE_NET_RUN_LOSS_READER_H_

#include <memory>
#include <vector>

#include "core/device/device.h"
#include "core/net/plan/plan.h"

namespace doppio {

class LossReader {
 public:
  LossReader() = default;
  // `terms` outlive the reader.
  LossReader(Device* device, const std::vector<LossTerm>& terms);

  // After a forward pass. `scale` is the loss scale of the backward that has set the weights of
  // losses with readers.
  void Start(double scale);
  // The weighted sum as of the last Start; waits for it.
  double Sum();

 private:
  double WeightOf(size_t term, const char* memory);

  const std::vector<LossTerm>* terms_ = nullptr;
  std::unique_ptr<Download> download_;
  double scale_ = 1;
  std::vector<double> reader_weights_;  // per term: the last one that was a number
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_LOSS_READER_H_
