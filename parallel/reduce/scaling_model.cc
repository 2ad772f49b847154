#include "parallel/reduce/scaling_model.h"

#include <algorithm>

#include "core/base/error.h"
#include "parallel/reduce/bucket_size.h"
#include "parallel/reduce/buckets.h"

namespace doppio {
namespace {

constexpr int64_t kValueBytes = 4;

struct Message {
  double ready_ms = 0;  // time since backward began
  int64_t values = 0;
};

std::vector<Message> MessagesOf(const RankTimes& times, int64_t bucket_bytes) {
  std::vector<GradientSlice> slices;
  std::vector<double> ready;
  double ms = 0;
  int64_t bytes = 0;
  for (const BackwardPiece& piece : times.backward) {
    ms += piece.ms;
    for (const int64_t values : piece.gradients) {
      slices.push_back({bytes, bytes + values * kValueBytes});
      bytes = slices.back().end;
      ready.push_back(ms);
    }
  }
  std::vector<Message> messages;
  size_t first = 0;
  for (const size_t end : CutBuckets(slices, bucket_bytes)) {
    messages.push_back({ready[end - 1], (slices[end - 1].end - slices[first].begin) / kValueBytes});
    first = end;
  }
  return messages;
}

int64_t ValuesOf(const RankTimes& times) {
  int64_t sum = 0;
  for (const BackwardPiece& piece : times.backward) {
    for (const int64_t values : piece.gradients) sum += values;
  }
  return sum;
}

// Returns the size of buckets for `ranks` ranks that exchange `values` values.
int64_t BucketBytesOf(const ScalingOptions& options, int ranks, int64_t values) {
  if (options.bucket_bytes != kAutoBucketBytes) return options.bucket_bytes;
  const double sent = static_cast<double>(values) * options.reduce_bits / 8;
  const AllReduceCost cost = CostOfAllReduce(options.cluster, ranks, sent);
  const double bytes = static_cast<double>(values * kValueBytes);
  return BestBucketBytes(values * kValueBytes, cost.latency_ms,
                         (cost.inside_ms + cost.across_ms) / std::max(bytes, 1.0));
}

// The progress of backward's computing next to the messages. Times are in ms since backward began.
class Backward {
 public:
  explicit Backward(double work_ms) : work_(work_ms) {}

  double now() const { return now_; }
  // Returns the time at which the last piece of backward was complete. Valid once now() has reached
  // it.
  double end() const { return end_; }

  // Computes without messages until `work` ms of work are done.
  void ComputeUntil(double work) {
    if (work <= done_) return;
    now_ += work - done_;
    done_ = work;
    if (done_ >= work_) end_ = now_;
  }
  void Finish() { ComputeUntil(work_); }

  // Transfers a message for `ms`, during which computing loses `held_up_ms`.
  void Carry(double ms, double held_up_ms) {
    const double lasts = std::max(ms, held_up_ms), rate = lasts > 0 ? 1 - held_up_ms / lasts : 1;
    const double left = work_ - done_;
    if (left > 0 && rate * lasts >= left) end_ = now_ + left / rate;
    done_ = std::min(work_, done_ + rate * lasts);
    now_ += lasts;
  }

 private:
  const double work_;
  double done_ = 0, now_ = 0, end_ = 0;
};

std::string BoundOf(const ScalingPoint& point) {
  if (point.exposed_ms <= 0.05 * point.iteration_ms) return "compute";
  const AllReduceCost& c = point.communication;
  if (c.held_up_ms > c.total_ms()) return "copies";
  if (c.latency_ms >= std::max(c.inside_ms, c.across_ms)) return "latency";
  return c.inside_ms >= c.across_ms ? "inside" : "across";
}

AllReduceCost Half(const AllReduceCost& cost) {
  return {cost.latency_ms / 2, cost.inside_ms / 2, cost.across_ms / 2, cost.held_up_ms / 2};
}

void AddCost(const AllReduceCost& more, AllReduceCost* sum) {
  sum->latency_ms += more.latency_ms;
  sum->inside_ms += more.inside_ms;
  sum->across_ms += more.across_ms;
  sum->held_up_ms += more.held_up_ms;
}

// Lets the messages of a training with `ranks` ranks follow each other. Sets point->communication
// and returns the time from the beginning of backward to the end of the iteration.
double TimeAfterForward(const RankTimes& times, const ScalingOptions& options, double backward_ms,
                        int64_t values, ScalingPoint* point) {
  const std::vector<Message> messages = MessagesOf(times, point->bucket_bytes);
  const bool shards = options.shard_update && point->ranks > 1;
  Backward backward(backward_ms);
  std::vector<double> arrived;
  for (const Message& message : messages) {
    const double bytes = static_cast<double>(message.values) * options.reduce_bits / 8;
    const AllReduceCost whole = CostOfAllReduce(options.cluster, point->ranks, bytes);
    const AllReduceCost cost = shards ? Half(whole) : whole;
    AddCost(cost, &point->communication);
    backward.ComputeUntil(message.ready_ms);
    backward.Carry(cost.total_ms(), cost.held_up_ms);
    arrived.push_back(backward.now());
  }
  backward.Finish();
  double updated = backward.end(), gathered = arrived.empty() ? 0 : arrived.back();
  for (size_t i = 0; i < messages.size(); ++i) {
    const double share = static_cast<double>(messages[i].values) / static_cast<double>(values);
    updated = std::max(updated, arrived[i]) + share * point->update_ms;
    if (!shards) continue;
    const AllReduceCost cost = Half(CostOfAllReduce(
        options.cluster, point->ranks, static_cast<double>(messages[i].values * kValueBytes)));
    AddCost(cost, &point->communication);
    gathered = std::max(gathered, updated) + cost.total_ms();
  }
  if (messages.empty()) updated += point->update_ms;
  return shards ? std::max(updated, gathered) : updated;
}

}  // namespace

std::vector<ScalingPoint> PredictScaling(const RankTimes& times, const ScalingOptions& options,
                                         const std::vector<int>& ranks) {
  const int64_t values = ValuesOf(times);
  double backward_ms = 0;
  for (const BackwardPiece& piece : times.backward) backward_ms += piece.ms;
  const double computing_ms = times.forward_ms + backward_ms;
  const double alone_ms = computing_ms + times.update_ms;
  DOPPIO_CHECK(alone_ms > 0 && times.batch > 0, "an iteration takes time and has a batch");

  std::vector<ScalingPoint> points;
  for (const int n : ranks) {
    ScalingPoint point;
    point.ranks = n;
    point.update_ms = options.shard_update ? times.update_ms / n : times.update_ms;
    point.bucket_bytes = BucketBytesOf(options, n, values);
    point.iteration_ms =
        times.forward_ms + TimeAfterForward(times, options, backward_ms, values, &point);
    point.exposed_ms = std::max(0.0, point.iteration_ms - computing_ms - point.update_ms);
    point.speedup = n * alone_ms / point.iteration_ms;
    point.efficiency = point.speedup / n;
    point.images_per_s = n * static_cast<double>(times.batch) * 1e3 / point.iteration_ms;
    point.bound = BoundOf(point);
    points.push_back(point);
  }
  return points;
}

}  // namespace doppio
