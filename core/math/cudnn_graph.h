// Convolutions described to cuDNN as graphs of operations, which is how it offers its fast ones for
// 16 bits; cudnn_plan.h finds out how to run them. Tensors have their channels last, sums are in
// single precision. Only *_cuda.cc files include this.
#ifndef DOPPIO_CORE_MATH_CUDNN_GRAPH_H_
#define DOPPIO_CORE_MATH_CUDNN_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/math/cudnn.h"

namespace doppio {

// Anything that cuDNN describes by attributes.
class CudnnThing {
 public:
  explicit CudnnThing(cudnnBackendDescriptorType_t type);
  ~CudnnThing();
  CudnnThing(CudnnThing&& other) noexcept;
  CudnnThing& operator=(CudnnThing&& other) noexcept;

  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  template <class T>
  void SetOne(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    Set(name, type, 1, &value);
  }
  void SetInts(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  void SetThing(cudnnBackendAttributeName_t name, const CudnnThing& value);
  // As many as there are, at most `room`, into `values`.
  int64_t Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room,
              void* values) const;
  // No attribute is set afterwards. Throws unless it makes sense; Complete says whether.
  void Finish(const char* what);
  bool Complete();

  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// Where plans are to run: a GPU that is there or, to look at plans without one, the properties of
// some GPU.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnThing* properties = nullptr;
};

// What a graph reads and writes; the gradients are named as their values are.
enum class CudnnRole : int64_t { kBottom = 1, kWeights, kTop, kBias, kOther };

// Extents as (batch, channels, spatial...) and (outputs, inputs of a group, spatial...), with two
// or three spatial axes.
struct CudnnConvolutionCase {
  std::vector<int64_t> x, w, y;
  CudnnConvolutionShape shape;
  DType type = DType::kBFloat16;  // of all three
};
struct CudnnTail {
  bool bias = false, other = false,
       relu = false;  // a single-precision bias, a tensor like the top, ReLU of slope 0
};

class CudnnGraph {
 public:
  // y = the convolution of x, with what comes after it.
  static CudnnGraph Forward(const CudnnTarget& target, const CudnnConvolutionCase& c,
                            const CudnnTail& tail);
  // x's gradient from y's.
  static CudnnGraph BackwardData(const CudnnTarget& target, const CudnnConvolutionCase& c);
  // The weights' gradient, stored as `type`.
  static CudnnGraph BackwardFilter(const CudnnTarget& target, const CudnnConvolutionCase& c,
                                   DType type);

  const CudnnTarget& target() const { return target_; }
  const CudnnThing& operations() const { return graph_; }

 private:
  explicit CudnnGraph(const CudnnTarget& target)
      : target_(target), graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {}
  const CudnnThing& Tensor(CudnnRole role, const std::vector<int64_t>& dims, DType type);
  const CudnnThing& Inside(const std::vector<int64_t>& dims);
  const CudnnThing& AddTensor(int64_t id, const std::vector<int64_t>& dims, DType type,
                              bool inside);
  void AddSum(const CudnnThing& a, const CudnnThing& b, const CudnnThing& to);
  void AddRelu(const CudnnThing& from, const CudnnThing& to);
  void AddOperation(CudnnThing operation, const char* what);
  void Finish();

  CudnnTarget target_;
  // Tensors and descriptions that the operations name.
  std::vector<std::unique_ptr<CudnnThing>> parts_;
  std::vector<std::unique_ptr<CudnnThing>> operations_;
  int64_t next_inside_ = 100;
  CudnnThing graph_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_GRAPH_H_
