#include "parallel/reduce/gradient_copy.h"

namespace doppio {

GradientCopy::GradientCopy(ParamStore* params, DType type, int ranks)
    : params_(params),
      type_(type),
      divisor_(type == DType::kFloat16 ? ranks : 1),
      memory_(params->device(), params->arenas().grads().stored() * ElementBytes(type)) {}

Tensor GradientCopy::Gradients(const ArenaRange& range) const {
  const Tensor all = params_->arenas().grads();
  return Tensor({Shape{range.end - range.begin}, all.dtype, Layout()},
                static_cast<char*>(all.raw) + range.begin * ElementBytes(all.dtype));
}

void* GradientCopy::PlaceOf(int64_t element) const {
  return static_cast<char*>(memory_.data()) + element * ElementBytes(type_);
}

void GradientCopy::AddBucket(const ArenaRange& bucket, const ArenaRange& needed) {
  const auto narrowed = [&](const TensorSpec& wide) {
    return TensorSpec{wide.shape, type_, Layout()};
  };
  const TensorOps& ops = OpsOf(params_->device());
  Bucket added{bucket.begin, needed.begin, Gradients(bucket), Gradients(needed), nullptr, nullptr};
  added.narrow = ops.Convert(added.gradients, narrowed(added.gradients));
  if (needed.begin < needed.end) added.widen = ops.Convert(narrowed(added.needed), added.needed);
  buckets_.push_back(std::move(added));
}

void GradientCopy::Narrow(size_t bucket) const {
  const Bucket& b = buckets_[bucket];
  if (divisor_ != 1) OpsOf(params_->device()).Scale(1.0 / divisor_, b.gradients);
  b.narrow->Run(b.gradients.raw, at(bucket));
}

void GradientCopy::Widen(size_t bucket) const {
  const Bucket& b = buckets_[bucket];
  if (b.widen == nullptr) return;
  b.widen->Run(PlaceOf(b.needed_begin), b.needed.raw);
  if (divisor_ != 1) OpsOf(params_->device()).Scale(divisor_, b.needed);
}

void* GradientCopy::at(size_t bucket) const { return PlaceOf(buckets_[bucket].begin); }

}  // namespace doppio
