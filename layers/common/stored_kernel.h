// Kernels of the CPU that read and write tensors in the type in which they are stored: float,
// double or a 16-bit type. They are class templates over this type, compute in ComputeType of it,
// and have one type for all bottoms and tops.
//
// Loops that store a 16-bit type have `#pragma GCC ivdep`. With `#pragma omp simd`, GCC keeps the
// rounded objects of all lanes in an array and does not vectorise the loop.
#ifndef DOPPIO_LAYERS_COMMON_STORED_KERNEL_H_
#define DOPPIO_LAYERS_COMMON_STORED_KERNEL_H_

#include <memory>
#include <string>

#include "core/base/independent_iterations.h"
#include "core/net/contract/kernel.h"

namespace doppio {

// Returns `value` in the type in which kernels compute.
template <class T>
ComputeType<T> Widen(T value) {
  return static_cast<ComputeType<T>>(value);
}

// Requests bottoms of the type of the top from the plan.
template <class K>
class StoredKernel : public K {
 public:
  explicit StoredKernel(const KernelArgs& args) : K(args) {
    this->needs_.types.assign(args.bottoms.size(), args.tops[0]);
  }
};

// A factory for KernelType::make: constructs K<T> for the type T of the top.
template <template <class> class K>
std::unique_ptr<Kernel> MakeForStored(const KernelArgs& args) {
  return DispatchReal(args.tops[0], [&](auto zero) -> std::unique_ptr<Kernel> {
    return std::make_unique<StoredKernel<K<decltype(zero)>>>(args);
  });
}

// Returns the type of a kernel of rank 0 for a layer or chain with one top.
template <template <class> class K>
KernelType StoredKernelType(const std::string& layer, const std::string& engine = "reference") {
  return KernelType(layer, &MakeForStored<K>).Engine(engine).Narrow();
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_STORED_KERNEL_H_
