#include "parallel/reduce/gradient_buckets.h"

#include <utility>

#include "parallel/reduce/buckets.h"
#include "parallel/reduce/shares.h"

namespace doppio {

GradientBuckets::GradientBuckets(ParamStore* params, const Communicator& bulk,
                                 const ReducerOptions& options)
    : params_(*params), type_(options.type) {
  if (Is16Bit(options.type) && params->arenas().grads().count() > 0)
    copy_.emplace(params, options.type, bulk.size());
  std::vector<int> order;
  for (int i : params->arenas()[0].params) {
    if (params->param(i).gradient) order.push_back(i);
  }
  bucket_of_.resize(params->params().size());
  const int64_t element = ElementBytes(params->dtype());
  std::vector<GradientSlice> slices;
  for (int i : order) {
    const Param& param = params->param(i);
    slices.push_back(
        {param.grad_offset * element, (param.grad_offset + param.grad.stored()) * element});
  }
  size_t first = 0;
  for (const size_t end : CutBuckets(slices, options.bucket_bytes)) {
    GradientBucket bucket;
    bucket.layer = params->param(order[first]).layer;
    bucket.range = {slices[first].begin / element, slices[end - 1].end / element};
    for (; first < end; ++first) {
      bucket.params.push_back(order[first]);
      bucket_of_[order[first]] = buckets_.size();
    }
    if (options.sharding.on) Divide(bulk, options.sharding.unit, &bucket);
    const ArenaRange& needed = shares_.empty() ? bucket.range : shares_[bulk.rank()].back();
    if (copy_) copy_->AddBucket(bucket.range, needed);
    buckets_.push_back(std::move(bucket));
  }
}

// Divides a bucket among the ranks.
void GradientBuckets::Divide(const Communicator& bulk, int64_t unit, GradientBucket* bucket) {
  DOPPIO_CHECK(!bulk.WaitsOnDevice(), "only ranks on the host divide the update");
  const auto [begin, end] = bucket->range;
  std::vector<int64_t> starts;
  for (int i : bucket->params) starts.push_back(params_.params()[i].grad_offset);
  bucket->cuts = ShareCuts(begin, end, starts, bulk.size(), unit);
  shares_.resize(bulk.size());
  for (int r = 0; r < bulk.size(); ++r)
    shares_[r].push_back({begin + bucket->cuts[r], begin + bucket->cuts[r + 1]});
}

void* GradientBuckets::At(const Tensor& arena, size_t bucket) const {
  return static_cast<char*>(arena.raw) + buckets_[bucket].range.begin * ElementBytes(arena.dtype);
}

void* GradientBuckets::sent(size_t bucket) const {
  return copy_ ? copy_->at(bucket) : At(params_.arenas().grads(), bucket);
}

void GradientBuckets::Narrow(size_t bucket) const {
  if (copy_) copy_->Narrow(bucket);
}

void GradientBuckets::Widen(size_t bucket) const {
  if (copy_) copy_->Widen(bucket);
}

}  // namespace doppio
