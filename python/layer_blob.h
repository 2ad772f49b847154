// A blob of a layer that is written in Python. While shapes are found it has no memory: what the
// layer reads is zeros, and what it writes to parameters are their initial values. Then it is bound
// to a net's memory, and its shape is fixed.
#ifndef DOPPIO_PYTHON_LAYER_BLOB_H_
#define DOPPIO_PYTHON_LAYER_BLOB_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/tensor.h"
#include "python/blob.h"
#include "python/views.h"

namespace doppio {

class LayerBlob : public Blob {
 public:
  explicit LayerBlob(std::string name) : name_(std::move(name)) {}
  LayerBlob(std::string name, const Shape& shape)
      : name_(std::move(name)), shape_(shape), shaped_(true) {}

  bool shaped() const { return shaped_; }
  Shape shape() override { return shape_; }
  pybind11::array data() override {
    return value_ ? ShowMemory(value_, nullptr) : values_.Of(shape_);
  }
  pybind11::array diff() override {
    return gradient_ ? ShowMemory(gradient_, nullptr) : zeros_.Of(shape_);
  }

  void Reshape(const Shape& shape) override {
    for (int64_t dim : shape.dims()) {
      if (dim < 0)
        throw UsageError("shape " + shape.ToString() + " of blob '" + name_ +
                         "': an extent is not negative");
    }
    if (value_ && shape != shape_) {
      throw UsageError("blob '" + name_ + "' is " + shape_.ToString() + " and cannot become " +
                       shape.ToString() + ": shapes are fixed when a net is made");
    }
    shape_ = shape;
    shaped_ = true;
  }

  // `gradient` may be absent.
  void Bind(const Tensor& value, const Tensor& gradient) {
    value_ = value;
    gradient_ = gradient;
    shape_ = value.shape;
    shaped_ = true;
  }
  // The memory goes: who has kept the blob sees zeros.
  void Release() {
    value_ = Tensor();
    gradient_ = Tensor();
  }
  bool bound() const { return static_cast<bool>(value_); }

 private:
  const std::string name_;
  Shape shape_;
  bool shaped_ = false;
  Tensor value_, gradient_;
  ZeroArray values_, zeros_;
};

// `self.blobs` of such a layer.
struct ParamBlobs {
  std::vector<std::shared_ptr<LayerBlob>> blobs;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_LAYER_BLOB_H_
