// A blob of a layer that is written in Python. Bottoms and tops have memory of their own, which the
// kernel copies from and to the net's, so that a top may have any shape and an array may be kept
// for any time. Parameters are shown where the net has them; before there is a net, and after it,
// they have memory of their own as well: what the layer writes there in setup() is the start.
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
        throw UsageError("shape " + shape.ToString() + " of blob '" + name_ +
                         "': an extent is not negative");
    }
    if (fixed_ && shape != shape_) {
      throw UsageError("blob '" + name_ + "' is " + shape_.ToString() + " and cannot become " +
                       shape.ToString() + ": a layer gives shapes to its tops only");
    }
    shape_ = shape;
    shaped_ = true;
  }

  // A bottom or a parameter: from here on the net alone says what shape it has.
  void Fix(const Shape& shape) {
    shape_ = shape;
    shaped_ = fixed_ = true;
  }

  // What the net computes in.
  void SetType(DType type) { type_ = type; }

  // Of memory of its own, from and to plain tensors of its shape and type on the host. Absent
  // gradients are zeros, and go nowhere.
  void TakeData(const Tensor& from) { Take(from, &values_); }
  void TakeDiff(const Tensor& from) { Take(from, &gradients_); }
  void GiveData(const Tensor& to) { Give(&values_, to); }
  void GiveDiff(const Tensor& to) { Give(&gradients_, to); }

  // A parameter of a net. `gradient` may be absent.
  void Bind(const Tensor& value, const Tensor& gradient) {
    value_ = value;
    gradient_ = gradient;
    Fix(value.shape);
  }
  // What keeps that memory, for arrays; the blob itself does not.
  void set_owner(const std::shared_ptr<void>& owner) { owner_ = owner; }
  // The memory goes: who has kept the blob sees zeros.
  void Release() {
    value_ = Tensor();
    gradient_ = Tensor();
  }

 private:
  void Take(const Tensor& from, ZeroArray* to) {
    void* memory = to->Of(shape_, type_).mutable_data();
    if (from) {
      std::memcpy(memory, from.raw, static_cast<size_t>(from.bytes()));
    } else {
      std::memset(memory, 0, static_cast<size_t>(from.bytes()));
    }
  }
  void Give(ZeroArray* from, const Tensor& to) {
    if (to) std::memcpy(to.raw, from->Of(shape_, type_).data(), static_cast<size_t>(to.bytes()));
  }

  const std::string name_;
  Shape shape_;
  DType type_ = DType::kFloat32;
  bool shaped_ = false, fixed_ = false;
  Tensor value_, gradient_;
  std::weak_ptr<void> owner_;
  ZeroArray values_, gradients_;
};

// `self.blobs` of such a layer.
struct ParamBlobs {
  std::vector<std::shared_ptr<LayerBlob>> blobs;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_LAYER_BLOB_H_
