// An exponential moving average of all parameters (ema_decay), which usually tests better than the
// weights of the last iterations. After update t = 1, 2, ... of the training,
//
//   a <- d a + (1 - d) w  with d = min(ema_decay, (1 + t) / (10 + t)).
//
// Polyak, Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992; the warm-up of
// the decay is that of TensorFlow, with which EfficientNet was trained, and of timm.
//
// The parameters include statistics of BatchNorm, as in timm. Averages of the sums and of their
// factor, which Caffe stores, give a mean of the statistics of the averaged weights; computing
// statistics anew would need a pass over the data.
#ifndef DOPPIO_SOLVERS_UPDATE_WEIGHT_AVERAGE_H_
#define DOPPIO_SOLVERS_UPDATE_WEIGHT_AVERAGE_H_

#include <cstdint>

#include "proto/solver.pb.h"
#include "solvers/update/arena_passes.h"

namespace doppio {

// The averages are in the last slot of SolverHistory. Does nothing if the solver asks for none. Not
// thread-safe.
class WeightAverage {
 public:
  // `passes` must outlive this object.
  WeightAverage(const SolverParameter& param, ArenaPasses* passes)
      : decay_(param.ema_decay()), passes_(*passes) {}

  bool on() const { return decay_ > 0; }
  // Sets the averages to the values, the first time that it is called.
  void Begin();
  // Adds the values after an update, which counts from 0. If `decided`, only if the device has
  // allowed that update. Requires Begin.
  void Add(int64_t update, bool decided);
  // Exchanges the averages and the values, on this rank's share of them. Requires Begin.
  void Swap();
  // Returns true if the arena of the values has the averages, and the history has the values.
  bool swapped() const { return swapped_; }

 private:
  const double decay_;
  ArenaPasses& passes_;
  bool begun_ = false, swapped_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_WEIGHT_AVERAGE_H_
