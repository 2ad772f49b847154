// The buckets of the arena of gradients, which is in the order in which backward completes them:
// what each contains, how the ranks divide it, and the memory that they exchange for it.
#ifndef DOPPIO_PARALLEL_REDUCE_GRADIENT_BUCKETS_H_
#define DOPPIO_PARALLEL_REDUCE_GRADIENT_BUCKETS_H_

#include <optional>
#include <string>
#include <vector>

#include "core/net/contract/communicator.h"
#include "core/net/store/params.h"
#include "parallel/reduce/gradient_copy.h"

namespace doppio {

struct ReducerOptions {
  // Minimum size of a bucket; the last one may be smaller. Smaller buckets start earlier, larger
  // ones need fewer messages. A world that makes a reducer replaces kAutoBucketBytes.
  int64_t bucket_bytes = int64_t{16} << 20;
  // Type of gradients in the exchange. For a 16-bit type, gradients are rounded.
  DType type = DType::kFloat32;
  // If it is on, the ranks compute on the host.
  Sharding sharding = {};
};

struct GradientBucket {
  std::vector<int> params;    // indices of parameters, in arena order
  std::string layer;          // name of the layer of the first one
  ArenaRange range;           // elements of the arenas
  std::vector<int64_t> cuts;  // of the ranks' shares, relative to range.begin; empty: not divided
};

class GradientBuckets {
 public:
  // `params` must outlive the buckets. `bulk` is asked for its ranks only.
  GradientBuckets(ParamStore* params, const Communicator& bulk, const ReducerOptions& options);

  size_t size() const { return buckets_.size(); }
  const GradientBucket& operator[](size_t bucket) const { return buckets_[bucket]; }
  const std::vector<GradientBucket>& all() const { return buckets_; }
  // Returns the bucket of a parameter with a gradient.
  size_t Of(int param) const { return bucket_of_[param]; }
  // Empty if every rank updates all parameters.
  const UpdateShares& shares() const { return shares_; }

  // The ranks exchange gradients of type sent_as() at `sent`. If that is a 16-bit copy, Narrow
  // converts a bucket's gradients to it, and Widen converts the sums back.
  DType sent_as() const { return copy_ ? type_ : params_.dtype(); }
  void* sent(size_t bucket) const;
  int64_t sent_bytes(size_t bucket) const { return Count(bucket) * ElementBytes(sent_as()); }
  void Narrow(size_t bucket) const;
  void Widen(size_t bucket) const;

  // The values of the bucket's parameters, of the type value_type().
  DType value_type() const { return params_.dtype(); }
  void* values(size_t bucket) const { return At(params_.arenas().values(), bucket); }
  int64_t value_bytes(size_t bucket) const { return Count(bucket) * ElementBytes(value_type()); }

 private:
  void Divide(const Communicator& bulk, int64_t unit, GradientBucket* bucket);
  int64_t Count(size_t bucket) const {
    return buckets_[bucket].range.end - buckets_[bucket].range.begin;
  }
  void* At(const Tensor& arena, size_t bucket) const;

  const ParamStore& params_;
  const DType type_;
  std::vector<GradientBucket> buckets_;
  std::vector<size_t> bucket_of_;  // by parameter of the store
  UpdateShares shares_;
  std::optional<GradientCopy> copy_;  // if gradients are sent in 16 bits
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_GRADIENT_BUCKETS_H_
