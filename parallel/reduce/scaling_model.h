// Predicts the speed of synchronous data parallelism from the times of one rank: how fast a number
// of ranks trains, and how much of their communication backward does not hide. Pure functions.
//
// The model: each rank runs forward and backward as it does alone. Gradients are split into buckets
// as in the reducer (parallel/reduce/buckets.h). A bucket is summed over all ranks once its last
// gradient is ready and the bucket before it is complete. Meanwhile backward continues, slowed by
// the copies (Link::held_up_ms_per_gbyte). After backward, the parameters of each bucket are
// updated in the same order, once their sum is complete. Ranks are equally fast and links carry
// nothing else, so the prediction is an upper bound.
#ifndef DOPPIO_PARALLEL_REDUCE_SCALING_MODEL_H_
#define DOPPIO_PARALLEL_REDUCE_SCALING_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/reduce/all_reduce_cost.h"

namespace doppio {

// A piece of backward, and the sizes (in values) of the gradients that are complete after it.
struct BackwardPiece {
  double ms = 0;
  std::vector<int64_t> gradients;
};

// The times of one rank's iteration.
struct RankTimes {
  double forward_ms = 0, update_ms = 0;
  std::vector<BackwardPiece> backward;  // in execution order
  int64_t batch = 0;                    // images per rank
};

struct ScalingOptions {
  Cluster cluster;
  // As in ReducerOptions; kAutoBucketBytes: the best size for each number of ranks. A bucket as
  // large as the net is summed after backward.
  int64_t bucket_bytes = int64_t{16} << 20;
  int reduce_bits = 32;  // bits per value on the links; buckets are split as for 32
  // Each rank updates one n-th of each bucket: a reduce-scatter, half of an all-reduce, takes the
  // gradients to it, and an all-gather, the other half, takes 32-bit values to all ranks.
  bool shard_update = false;
};

struct ScalingPoint {
  int ranks = 1;
  double iteration_ms = 0;
  double images_per_s = 0;   // total of all ranks
  double speedup = 1;        // compared with one rank
  double efficiency = 1;     // speedup / ranks
  int64_t bucket_bytes = 0;  // minimum size of a bucket
  AllReduceCost communication;
  // Time by which communication lengthens an iteration.
  double exposed_ms = 0;
  double update_ms = 0;  // of one rank
  // The bottleneck: "compute" if at most 5 % of the iteration is exposed communication; "copies" if
  // these slow computing down for longer than the whole communication takes; else the largest part
  // of the communication: "latency", "inside" or "across".
  std::string bound;
};

// Returns one point for each number of ranks. `times` must have a batch and a positive duration.
std::vector<ScalingPoint> PredictScaling(const RankTimes& times, const ScalingOptions& options,
                                         const std::vector<int>& ranks);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_SCALING_MODEL_H_
