#include "parallel/reduce/gradient_copy.h"

namespace doppio {

GradientCopy::GradientCopy(ParamStore* params, DType type, int ranks)
    : params_(params),
      type_(type),
      divisor_(type == DType::kFloat16 ? ranks : 1),
      memory_(params->device(), params->grads().stored() * ElementBytes(type)) {}

void GradientCopy::AddBucket(int64_t begin, int64_t end) {
  const Tensor all = params_->grads();
  const TensorSpec wide{Shape{end - begin}, all.dtype, Layout()},
      narrow{wide.shape, type_, Layout()};
  const TensorOps& ops = OpsOf(params_->device());
  buckets_.push_back({begin,
                      Tensor(wide, static_cast<char*>(all.raw) + begin * ElementBytes(all.dtype)),
                      ops.Convert(wide, narrow), ops.Convert(narrow, wide)});
}

void GradientCopy::Narrow(size_t bucket) const {
  const Bucket& b = buckets_[bucket];
  if (divisor_ != 1) OpsOf(params_->device()).Scale(1.0 / divisor_, b.gradients);
  b.narrow->Run(b.gradients.raw, at(bucket));
}

void GradientCopy::Widen(size_t bucket) const {
  const Bucket& b = buckets_[bucket];
  b.widen->Run(at(bucket), b.gradients.raw);
  if (divisor_ != 1) OpsOf(params_->device()).Scale(divisor_, b.gradients);
}

void* GradientCopy::at(size_t bucket) const {
  return static_cast<char*>(memory_.data()) + buckets_[bucket].begin * ElementBytes(type_);
}

}  // namespace doppio
