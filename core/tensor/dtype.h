// Element types, and dispatch from a runtime type to a template parameter.
#ifndef DOPPIO_CORE_TENSOR_DTYPE_H_
#define DOPPIO_CORE_TENSOR_DTYPE_H_

#include <cstdint>
#include <type_traits>

#include "core/base/error.h"
#include "core/tensor/half.h"

namespace doppio {

enum class DType { kFloat32, kFloat64, kFloat16, kBFloat16 };

inline bool Is16Bit(DType type) { return type == DType::kFloat16 || type == DType::kBFloat16; }

// The size of a T in bytes, as a signed number.
template <class T>
constexpr int64_t kBytesOf = sizeof(T);

// Returns the size of an element in bytes.
inline int64_t ElementBytes(DType type) {
  if (Is16Bit(type)) return 2;
  return type == DType::kFloat64 ? 8 : 4;
}

inline const char* Name(DType type) {
  switch (type) {
    case DType::kFloat64:
      return "float64";
    case DType::kFloat32:
      return "float32";
    case DType::kFloat16:
      return "float16";
    case DType::kBFloat16:
      return "bfloat16";
  }
  return "?";
}

// Calls f with a value of the C++ type of `type`: float{} or double{}, the two types that the plain
// CPU kernels compute in.
template <class F>
auto DispatchFloat(DType type, F&& f) {
  DOPPIO_CHECK(type == DType::kFloat32 || type == DType::kFloat64, Name(type));
  return type == DType::kFloat64 ? f(double{}) : f(float{});
}

// Calls f with float{}, Half{} or BFloat16{}, the storage types of activations and their gradients.
template <class F>
auto DispatchStored(DType type, F&& f) {
  DOPPIO_CHECK(type == DType::kFloat32 || Is16Bit(type), Name(type));
  if (type == DType::kFloat16) return f(Half{});
  return type == DType::kBFloat16 ? f(BFloat16{}) : f(float{});
}

// Calls f with double{}, float{}, Half{} or BFloat16{}, i.e. for every floating-point type.
template <class F>
auto DispatchReal(DType type, F&& f) {
  if (type == DType::kFloat64) return f(double{});
  return DispatchStored(type, f);
}

// The type in which numbers stored as T are computed: double for double, else float.
template <class T>
using ComputeType = std::conditional_t<std::is_same<T, double>::value, double, float>;

}  // namespace doppio

#endif  // DOPPIO_CORE_TENSOR_DTYPE_H_
