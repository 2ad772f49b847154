// Describes convolutions to cuDNN as graphs of operations. cuDNN offers its fast 16-bit
// convolutions only in this form; cudnn_plan.h finds plans that execute a graph. Tensors are in
// channels-last layout, and sums are in single precision. Only *_cuda.cc files include this header.
#ifndef DOPPIO_CORE_MATH_CUDNN_GRAPH_H_
#define DOPPIO_CORE_MATH_CUDNN_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/math/cudnn.h"

namespace doppio {

// Owns a backend descriptor, cuDNN's generic object with attributes.
class CudnnBackendDescriptor {
 public:
  explicit CudnnBackendDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnBackendDescriptor();
  CudnnBackendDescriptor(CudnnBackendDescriptor&& other) noexcept;
  CudnnBackendDescriptor& operator=(CudnnBackendDescriptor&& other) noexcept;

  // Sets an attribute to `count` values. Throws DeviceError, as do the other functions that access
  // attributes.
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  template <class T>
  void SetOne(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    Set(name, type, 1, &value);
  }
  void SetInts(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  void SetDescriptor(cudnnBackendAttributeName_t name, const CudnnBackendDescriptor& value);
  // Reads at most `room` values of an attribute into `values` and returns their number.
  int64_t Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room,
              void* values) const;
  // Finish and Complete finalize the descriptor, after which no attribute can be set. If the
  // attributes are invalid, Finish throws DeviceError and Complete returns false.
  void Finish(const char* what);
  bool Complete();

  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// The GPU for which plans are created: a handle to a real GPU, or only the properties of some GPU,
// which allows inspecting plans without one.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnBackendDescriptor* properties = nullptr;
};

// The tensors of a graph. A gradient has the role of its value.
enum class CudnnRole : int64_t { kBottom = 1, kWeights, kTop, kBias, kOther };

// A convolution. Shapes are (batch, channels, spatial...) for x and y, and (outputs, inputs per
// group, spatial...) for w, with two or three spatial axes.
struct CudnnConvolutionCase {
  std::vector<int64_t> x, w, y;
  CudnnConvolutionShape shape;
  DType type = DType::kBFloat16;  // type of x, w and y
};
// Operations after the convolution, in this order: adds a single-precision bias per channel, adds
// a tensor with the shape and type of the top, applies ReLU with slope 0.
struct CudnnEpilogue {
  bool bias = false, other = false, relu = false;
};

// A finalized graph of a convolution, with all the descriptors that it refers to.
class CudnnGraph {
 public:
  // Returns the graph that convolves x with w, applies the operations in `tail`, and stores y.
  static CudnnGraph Forward(const CudnnTarget& target, const CudnnConvolutionCase& c,
                            const CudnnEpilogue& tail);
  // Returns the graph that computes the gradient of x from w and the gradient of y.
  static CudnnGraph BackwardData(const CudnnTarget& target, const CudnnConvolutionCase& c);
  // Returns the graph that computes the gradient of w, stored as `type`, from x and the gradient
  // of y.
  static CudnnGraph BackwardFilter(const CudnnTarget& target, const CudnnConvolutionCase& c,
                                   DType type);

  const CudnnTarget& target() const { return target_; }
  const CudnnBackendDescriptor& operations() const { return graph_; }

 private:
  explicit CudnnGraph(const CudnnTarget& target)
      : target_(target), graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {}
  const CudnnBackendDescriptor& Tensor(CudnnRole role, const std::vector<int64_t>& dims,
                                       DType type);
  const CudnnBackendDescriptor& VirtualTensor(const std::vector<int64_t>& dims);
  const CudnnBackendDescriptor& AddTensor(int64_t id, const std::vector<int64_t>& dims, DType type,
                                          bool inside);
  void AddSum(const CudnnBackendDescriptor& a, const CudnnBackendDescriptor& b,
              const CudnnBackendDescriptor& to);
  void AddRelu(const CudnnBackendDescriptor& from, const CudnnBackendDescriptor& to);
  void AddOperation(CudnnBackendDescriptor operation, const char* what);
  void Finish();

  CudnnTarget target_;
  // Descriptors of tensors and operators, which the operations refer to.
  std::vector<std::unique_ptr<CudnnBackendDescriptor>> parts_;
  std::vector<std::unique_ptr<CudnnBackendDescriptor>> operations_;
  int64_t next_virtual_id_ = 100;
  CudnnBackendDescriptor graph_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_GRAPH_H_
