// Predicts synchronous data parallelism from one rank's times: how fast so many ranks train
// together, and what of their communication backward does not hide. Pure.
//
// The model. Each rank runs forward and backward as it does alone. Gradients are cut into buckets
// as the reducer cuts them (parallel/reduce/buckets.h); a bucket is summed over all ranks once its
// last gradient is there and the bucket before it is done. While it travels, backward goes on, but
// for what the copies take from it (Link::held_up_ms_per_gbyte). Behind backward, each bucket's
// parameters are updated in that order, once its sum is there. Ranks are equally fast and links
// carry nothing else: what is predicted is the most that can be reached.
#ifndef DOPPIO_PARALLEL_REDUCE_SCALING_MODEL_H_
#define DOPPIO_PARALLEL_REDUCE_SCALING_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/reduce/all_reduce_cost.h"

namespace doppio {

// A piece of backward, and the gradients that are complete after it, each as its number of values.
struct BackwardPiece {
  double ms = 0;
  std::vector<int64_t> gradients;
};

// One rank's iteration.
struct RankTimes {
  double forward_ms = 0, update_ms = 0;
  std::vector<BackwardPiece> backward;  // in the order in which it runs
  int64_t batch = 0;                    // images of one rank
};

struct ScalingOptions {
  Cluster cluster;
  int64_t bucket_bytes =
      int64_t{16} << 20;  // as ReducerOptions has it; one of the whole net is summed after backward
  int reduce_bits = 32;   // of each value on the links; buckets are cut by 32
};

struct ScalingPoint {
  int ranks = 1;
  double iteration_ms = 0;
  double images_per_s = 0;  // of all ranks
  double speedup = 1;       // over one rank
  double efficiency = 1;    // speedup / ranks
  AllReduceCost communication;
  double exposed_ms = 0;  // that an iteration takes longer for it
  // "compute": no more than 5 % of the iteration is exposed; else what most of the communication
  // goes to: "latency", "inside" or "across"; "copies" where these hold computing up for longer
  // than all that.
  std::string bound;
};

// For each number of ranks. `times` has a batch and takes some time.
std::vector<ScalingPoint> PredictScaling(const RankTimes& times, const ScalingOptions& options,
                                         const std::vector<int>& ranks);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_SCALING_MODEL_H_
