// Gradients as ranks hand them to each other where that is not what they are computed as: a 16-bit
// copy of their arena, half as many bytes on every link.
//
// bfloat16 has the range of single precision. float16 has not, so what goes into the copy is
// divided by the number of ranks, and the sum is multiplied by it; gradients that are small as well
// want a loss scale.
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
  // For sums over so many ranks. `params` outlives the copy.
  GradientCopy(ParamStore* params, DType type, int ranks);

  // Elements [begin, end) of the arena of gradients, whole parameters: the next bucket.
  void AddBucket(int64_t begin, int64_t end);

  // In the order in which the device computes.
  void Narrow(size_t bucket) const;  // gradients into the copy
  void Widen(size_t bucket) const;   // and back

  void* at(size_t bucket) const;  // of the copy

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
