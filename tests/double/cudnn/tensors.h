// Tensors in memory as cuDNN and cuBLAS describe them, with any supported element type and any
// strides. For the doubles of the libraries, which run with device memory open.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_TENSORS_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_TENSORS_H_

#include <cudnn.h>

#include <cstdint>
#include <vector>

namespace doppio::gpu_double {

// A tensor. `dims` are in cuDNN's order (N, C, spatial...), and `strides` are in elements, one per
// dim. Does not own `data`, which points to the element with all indices 0.
struct Strided {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int64_t> dims, strides;
  void* data = nullptr;
};

// Returns the size in bytes of an element of FLOAT, DOUBLE, HALF, BFLOAT16, INT32, INT64, INT8,
// UINT8 or BOOLEAN; 0 for any other type.
int64_t BytesOf(cudnnDataType_t type);

// Convert between floats and the bits of 16-bit types. Conversions from float round to nearest,
// ties to even. Overflow gives infinity, and NaN stays NaN.
float FloatOfHalf(uint16_t bits);
uint16_t HalfOfFloat(float value);
float FloatOfBFloat16(uint16_t bits);
uint16_t BFloat16OfFloat(float value);
// Rounds to the 10 mantissa bits that tensor cores keep of a TF32 factor.
float RoundToTf32(float value);

// Load and store element `index`, counted in elements from `data`, of FLOAT, DOUBLE, HALF or
// BFLOAT16. Fault("type") for any other type.
double LoadElement(cudnnDataType_t type, const void* data, int64_t index);
void StoreElement(cudnnDataType_t type, void* data, int64_t index, double value);

// Returns the product of `dims`; 1 for no dims.
int64_t CountOf(const std::vector<int64_t>& dims);
// Returns the strides of a dense tensor. The innermost axis is the last one, or axis 1 with
// `channels_last`.
std::vector<int64_t> DenseStrides(const std::vector<int64_t>& dims, bool channels_last = false);
// Returns the number of bytes from the first element of the tensor to the end of the last one.
// Strides must not be negative.
int64_t ExtentBytes(const Strided& tensor);

// A range of indices of a tensor's leading axis, on which one step of a loop works.
struct Part {
  int64_t begin = 0, count = 0;
};

// Copies elements [part.begin, part.begin + part.count) of axis 0, with all inner axes, into a
// dense array in the order of the dims. T is float or double.
template <class T>
void LoadDense(const Strided& tensor, Part part, T* dense);
// Writes alpha * dense + beta * old element. Does not read the old elements if beta is 0.
template <class T>
void StoreDense(const Strided& tensor, Part part, const T* dense, double alpha, double beta);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_TENSORS_H_
