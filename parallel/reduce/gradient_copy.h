// A 16-bit copy of the arena of gradients, which ranks exchange in place of single precision to
// halve the bytes on every link.
//
// bfloat16 has the range of single precision, but float16 does not. Therefore float16 copies are
// divided by the number of ranks, and the sum is multiplied by it. If gradients are small as well,
// use a loss scale.
#ifndef DOPPIO_PARALLEL_REDUCE_GRADIENT_COPY_H_
#define DOPPIO_PARALLEL_REDUCE_GRADIENT_COPY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/device.h"
#include "core/math/tensor_ops.h"
#include "core/net/store/params.h"

namespace doppio {

class GradientCopy {
 public:
  // A copy of the gradients of `params` in `type`, for sums over `ranks` ranks. `params` must
  // outlive the copy.
  GradientCopy(ParamStore* params, DType type, int ranks);

  // Adds the next bucket: elements [begin, end) of the arena of gradients, which are whole
  // parameters.
  void AddBucket(int64_t begin, int64_t end);

  // Narrow and Widen run in order with the device's other work.
  void Narrow(size_t bucket) const;  // converts the bucket's gradients to 16 bits
  void Widen(size_t bucket) const;   // converts the bucket's sums back

  // Returns the bucket's memory in the copy.
  void* at(size_t bucket) const;

 private:
  struct Bucket {
    int64_t begin = 0;
    Tensor gradients;
    std::unique_ptr<Converter> narrow, widen;
  };

  ParamStore* const params_;
  const DType type_;
  const int divisor_;
  const Buffer memory_;
  std::vector<Bucket> buckets_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_GRADIENT_COPY_H_
