#include "tests/double/cudnn/tensors.h"

#include <cmath>
#include <cstring>
#include <string>

#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

uint32_t Bits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float FromBits(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Drops the lowest `bits` bits of a finite number or an infinity, rounding to nearest, ties to
// even. A carry out of the mantissa correctly increments the exponent.
uint32_t DropBits(uint32_t value, int bits) {
  const uint32_t half = (uint32_t{1} << (bits - 1)) - 1;
  return (value + half + ((value >> bits) & 1)) >> bits;
}

// The element types. Value() returns a float, or a double if a float is too narrow.
struct Half {
  uint16_t bits;
  float Value() const { return FloatOfHalf(bits); }
  static Half Of(double v) { return {HalfOfFloat(static_cast<float>(v))}; }
};

struct BFloat16 {
  uint16_t bits;
  float Value() const { return FloatOfBFloat16(bits); }
  static BFloat16 Of(double v) { return {BFloat16OfFloat(static_cast<float>(v))}; }
};

struct Float {
  float value;
  float Value() const { return value; }
  static Float Of(double v) { return {static_cast<float>(v)}; }
};

struct Double {
  double value;
  double Value() const { return value; }
  static Double Of(double v) { return {v}; }
};

// Calls use(element) with a zero of the element's type.
template <class Use>
auto Dispatch(cudnnDataType_t type, const Use& use) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return use(Float{});
    case CUDNN_DATA_DOUBLE:
      return use(Double{});
    case CUDNN_DATA_HALF:
      return use(Half{});
    case CUDNN_DATA_BFLOAT16:
      return use(BFloat16{});
    default:
      Fault("type", "an element of cuDNN's type " + std::to_string(type) + " is not computed with");
  }
}

// Calls run(offset of the first element, dense offset) for each run along the last axis.
template <class Run>
void ForEachRun(const Strided& t, Part part, const Run& run) {
  std::vector<int64_t> dims = t.dims, index(t.dims.size(), 0);
  dims[0] = part.count;
  const int64_t runs = dims.back() == 0 ? 0 : CountOf(dims) / dims.back();
  int64_t offset = part.begin * t.strides[0];
  for (int64_t r = 0; r < runs; ++r) {
    run(offset, r * dims.back());
    for (size_t axis = dims.size() - 1; axis-- > 0;) {
      offset += t.strides[axis];
      if (++index[axis] < dims[axis]) break;
      offset -= t.strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

int64_t BytesOf(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
      return 1;
    default:
      return 0;
  }
}

float FloatOfHalf(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return FromBits(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return FromBits(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t HalfOfFloat(float value) {
  const uint32_t bits = Bits(value), magnitude = bits & 0x7fffffff;
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00;  // 2^16 and above
  if (magnitude < 0x38800000) {                       // subnormal as a half
    // The last bit of the sum is worth 2^-24, so the addition rounds to the right precision.
    const uint32_t rounded = Bits(FromBits(magnitude) + 0.5f);
    return static_cast<uint16_t>(sign | (rounded - Bits(0.5f)));
  }
  return static_cast<uint16_t>(sign | (DropBits(magnitude, 13) - (112 << 10)));
}

float FloatOfBFloat16(uint16_t bits) { return FromBits(static_cast<uint32_t>(bits) << 16); }

uint16_t BFloat16OfFloat(float value) {
  const uint32_t bits = Bits(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>(DropBits(bits, 16));
}

float RoundToTf32(float value) {
  const uint32_t bits = Bits(value);
  if ((bits & 0x7f800000) == 0x7f800000) return value;
  return FromBits(DropBits(bits, 13) << 13);
}

double LoadElement(cudnnDataType_t type, const void* data, int64_t index) {
  return Dispatch(type, [&](auto zero) -> double {
    return static_cast<const decltype(zero)*>(data)[index].Value();
  });
}

void StoreElement(cudnnDataType_t type, void* data, int64_t index, double value) {
  Dispatch(type, [&](auto zero) {
    using E = decltype(zero);
    static_cast<E*>(data)[index] = E::Of(value);
  });
}

int64_t CountOf(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  return count;
}

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& dims, bool channels_last) {
  std::vector<int64_t> strides(dims.size(), 1);
  int64_t next = channels_last ? dims[1] : 1;
  for (size_t axis = dims.size(); axis-- > (channels_last ? 2 : 0);) {
    strides[axis] = next;
    next *= dims[axis];
  }
  if (channels_last) strides[0] = next;
  return strides;
}

int64_t ExtentBytes(const Strided& tensor) {
  int64_t last = 0;
  for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    if (tensor.dims[axis] == 0) return 0;
    last += (tensor.dims[axis] - 1) * tensor.strides[axis];
  }
  return (last + 1) * BytesOf(tensor.type);
}

template <class T>
void LoadDense(const Strided& tensor, Part part, T* dense) {
  const int64_t run = tensor.dims.back(), stride = tensor.strides.back();
  Dispatch(tensor.type, [&](auto zero) {
    using E = decltype(zero);
    const E* from = static_cast<const E*>(tensor.data);
    ForEachRun(tensor, part, [&](int64_t offset, int64_t to) {
      for (int64_t i = 0; i < run; ++i) {
        dense[to + i] = static_cast<T>(from[offset + i * stride].Value());
      }
    });
  });
}

template <class T>
void StoreDense(const Strided& tensor, Part part, const T* dense, double alpha, double beta) {
  const int64_t run = tensor.dims.back(), stride = tensor.strides.back();
  Dispatch(tensor.type, [&](auto zero) {
    using E = decltype(zero);
    E* to = static_cast<E*>(tensor.data);
    // Like the libraries, computes in the type of the sums.
    const T a = static_cast<T>(alpha), b = static_cast<T>(beta);
    ForEachRun(tensor, part, [&](int64_t offset, int64_t from) {
      for (int64_t i = 0; i < run; ++i) {
        E& e = to[offset + i * stride];
        T value = a * dense[from + i];
        if (b != 0) value += b * static_cast<T>(e.Value());
        e = E::Of(value);
      }
    });
  });
}

template void LoadDense<float>(const Strided&, Part, float*);
template void LoadDense<double>(const Strided&, Part, double*);
template void StoreDense<float>(const Strided&, Part, const float*, double, double);
template void StoreDense<double>(const Strided&, Part, const double*, double, double);

}  // namespace doppio::gpu_double
