#include "core/device/elementwise.cuh"
#include "parallel/gpu/add_to_cuda.h"

namespace doppio {
namespace {

constexpr const char* kWhat = "a sum over ranks";

template <class T>
static void AddTo(const Gpu& gpu, int64_t n, const T* from, T* to) {
  MapElements(gpu, n, kWhat, to, Plus(), to, from);
}
// MapElements adds in single precision, so doubles need their own loop.
template <>
void AddTo(const Gpu& gpu, int64_t n, const double* from, double* to) {
  ForEachIndex(
      gpu, n, kWhat, DOPPIO_BODY(int64_t i) { to[i] += from[i]; });
}

}  // namespace

void LaunchAddTo(const Gpu& gpu, DType dtype, int64_t count, const void* from, void* to) {
  DispatchReal(dtype, [&](auto zero) {
    using T = decltype(zero);
    AddTo(gpu, count, static_cast<const T*>(from), static_cast<T*>(to));
  });
}

}  // namespace doppio
