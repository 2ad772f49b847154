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
#include "core/net/contract/communicator.h"
#include "core/net/store/params.h"

namespace doppio {

class GradientCopy {
 public:
  // A copy of the gradients of `params` in `type`, for sums over `ranks` ranks. `params` must
  // outlive the copy.
  GradientCopy(ParamStore* params, DType type, int ranks);

  // Adds the next bucket: elements of the arena of gradients, which are whole parameters. `needed`
  // is the part of it whose sums this rank uses.
  void AddBucket(const ArenaRange& bucket, const ArenaRange& needed);

  // Narrow and Widen run in order with the device's other work.
  void Narrow(size_t bucket) const;  // converts the bucket's gradients to 16 bits
  void Widen(size_t bucket) const;   // converts the sums of the bucket's needed part back

  // Returns the bucket's memory in the copy.
  void* at(size_t bucket) const;

 private:
  struct Bucket {
    int64_t begin = 0, needed_begin = 0;
    Tensor gradients, needed;
    std::unique_ptr<Converter> narrow, widen;
  };

  Tensor Gradients(const ArenaRange& range) const;
  // Returns the place in the copy of an element of the arena.
  void* PlaceOf(int64_t element) const;

  ParamStore* const params_;
  const DType type_;
  const int divisor_;
  const Buffer memory_;
  std::vector<Bucket> buckets_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_GRADIENT_COPY_H_
