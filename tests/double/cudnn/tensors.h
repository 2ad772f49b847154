// Tensors in memory as cuDNN and cuBLAS describe them: elements of any supported type at any
// strides. For the doubles of the libraries, which run with device memory open.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_TENSORS_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_TENSORS_H_

#include <cudnn.h>

#include <cstdint>
#include <vector>

namespace doppio::gpu_double {

// `dims` in cuDNN's order (N, C, spatial...), `strides` in elements, one for each dim. Does not own
// `data`, which points to the element with all indices 0.
struct Strided {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int64_t> dims, strides;
  void* data = nullptr;
};

// Bytes of an element of FLOAT, DOUBLE, HALF, BFLOAT16, INT32, INT64, INT8, UINT8 or BOOLEAN; 0 for
// any other type.
int64_t BytesOf(cudnnDataType_t type);

// Conversions between floats and the bits of 16-bit types. From float they round to nearest, ties
// to even; overflow gives an infinity, and a NaN stays one.
float FloatOfHalf(uint16_t bits);
uint16_t HalfOfFloat(float value);
float FloatOfBFloat16(uint16_t bits);
uint16_t BFloat16OfFloat(float value);
// Rounds to the 10 bits of mantissa that tensor cores keep of a TF32 factor.
float RoundToTf32(float value);

// Element `index` (counted in elements from `data`) of FLOAT, DOUBLE, HALF or BFLOAT16;
// Fault("type") for any other type.
double LoadElement(cudnnDataType_t type, const void* data, int64_t index);
void StoreElement(cudnnDataType_t type, void* data, int64_t index, double value);

// Product of `dims`; 1 for no dims.
int64_t CountOf(const std::vector<int64_t>& dims);
// Strides of dense tensors: the last axis innermost, or with `channels_last` axis 1.
std::vector<int64_t> DenseStrides(const std::vector<int64_t>& dims, bool channels_last = false);
// Bytes from the first to behind the last element that the tensor touches. Strides must not be
// negative.
int64_t ExtentBytes(const Strided& tensor);

// The range of elements that a step of a loop over a tensor's leading axis works on.
struct Part {
  int64_t begin = 0, count = 0;
};

// Elements [part.begin, part.begin + part.count) of axis 0 with everything behind it, as a dense
// array in the order of the dims. T is float or double.
template <class T>
void LoadDense(const Strided& tensor, Part part, T* dense);
// Writes alpha * dense + beta * the old element; old elements are not read when beta is 0.
template <class T>
void StoreDense(const Strided& tensor, Part part, const T* dense, double alpha, double beta);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_TENSORS_H_
