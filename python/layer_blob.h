// A blob of a layer written in Python. Bottoms and tops have separate memory, and the kernel copies
// between this memory and the net's. A top can therefore have any shape, and a script can keep an
// array as long as it needs it. Parameters are shown in the net's memory while there is a net.
// Before and after that they have separate memory too; the values that setup() writes to it become
// the initial values.
#ifndef DOPPIO_PYTHON_LAYER_BLOB_H_
#define DOPPIO_PYTHON_LAYER_BLOB_H_

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/tensor.h"
#include "python/blob.h"

namespace doppio {

class LayerBlob : public Blob {
 public:
  explicit LayerBlob(std::string name) : name_(std::move(name)) {}
  LayerBlob(std::string name, const Shape& shape)
      : name_(std::move(name)), shape_(shape), shaped_(true) {}

  bool shaped() const { return shaped_; }
  Shape shape() override { return shape_; }
  pybind11::array data() override {
    return value_ ? ShowMemory(value_, owner_.lock()) : values_.Of(shape_, type_);
  }
  pybind11::array diff() override {
    return gradient_ ? ShowMemory(gradient_, owner_.lock()) : gradients_.Of(shape_, type_);
  }

  void Reshape(const Shape& shape) override {
    for (int64_t dim : shape.dims()) {
      if (dim < 0)
        throw UsageError("shape ", shape.ToString(), " of blob '", name_,
                         "': extents must not be negative");
    }
    if (fixed_ && shape != shape_) {
      throw UsageError("blob '", name_, "' is ", shape_.ToString(), " and cannot become ",
                       shape.ToString(), ": a layer can only reshape its tops");
    }
    shape_ = shape;
    shaped_ = true;
  }

  // Sets the shape of a bottom or a parameter. From now on, only the net can change it.
  void Fix(const Shape& shape) {
    shape_ = shape;
    shaped_ = fixed_ = true;
  }

  // Sets the type in which the net computes.
  void SetType(DType type) { type_ = type; }

  // Copy between the blob's separate memory and plain tensors on the host with the blob's shape and
  // type. If `from` is absent, the values become zeros; if `to` is absent, nothing is copied.
  void TakeData(const Tensor& from) { Take(from, &values_); }
  void TakeDiff(const Tensor& from) { Take(from, &gradients_); }
  void GiveData(const Tensor& to) { Give(&values_, to); }
  void GiveDiff(const Tensor& to) { Give(&gradients_, to); }

  // Shows a parameter in the net's memory. `gradient` may be absent.
  void Bind(const Tensor& value, const Tensor& gradient) {
    value_ = value;
    gradient_ = gradient;
    Fix(value.shape);
  }
  // Sets the object that arrays keep alive because it owns the net's memory. The blob itself does
  // not keep it alive.
  void set_owner(const std::shared_ptr<void>& owner) { owner_ = owner; }
  // Detaches the blob from the net's memory. Scripts that keep the blob then see zeros.
  void Release() {
    value_ = Tensor();
    gradient_ = Tensor();
  }

 private:
  void Take(const Tensor& from, ZeroArray* to) {
    void* memory = to->Of(shape_, type_).mutable_data();
    if (from) {
      std::memcpy(memory, from.raw, from.bytes());
    } else {
      std::memset(memory, 0, from.bytes());
    }
  }
  void Give(ZeroArray* from, const Tensor& to) {
    if (to) std::memcpy(to.raw, from->Of(shape_, type_).data(), to.bytes());
  }

  const std::string name_;
  Shape shape_;
  DType type_ = DType::kFloat32;
  bool shaped_ = false, fixed_ = false;
  Tensor value_, gradient_;
  std::weak_ptr<void> owner_;
  ZeroArray values_, gradients_;
};

// `self.blobs` of a layer written in Python.
struct ParamBlobs {
  std::vector<std::shared_ptr<LayerBlob>> blobs;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_LAYER_BLOB_H_
