#include "python/views.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/math/tensor_ops.h"
#include "core/net/contract/plain_blob.h"

namespace doppio {
namespace py = pybind11;
namespace {

bool ShownInPlace(const Tensor& tensor, const Device& device) {
  return device.properties.host_memory && tensor.layout.plain() && !Is16Bit(tensor.dtype);
}

py::dtype NumpyType(DType type) {
  return type == DType::kFloat64 ? py::dtype::of<double>() : py::dtype::of<float>();
}

// Returns the strides of a row-major array, in bytes. pybind11 before 2.12 needs explicit strides
// to work with NumPy 2: without them it reads the element size at NumPy 1's offset.
std::vector<int64_t> Strides(const Shape& shape, DType dtype) {
  std::vector<int64_t> strides(shape.dims().size());
  for (int axis = 0; axis < shape.rank(); ++axis)
    strides[axis] = shape.count(axis + 1) * ElementBytes(dtype);
  return strides;
}

py::array MakeArray(const Shape& shape, DType dtype, void* memory, std::shared_ptr<void> owner) {
  auto* kept = new std::shared_ptr<void>(std::move(owner));
  py::capsule base(kept, [](void* p) { delete static_cast<std::shared_ptr<void>*>(p); });
  return py::array(NumpyType(dtype), shape.dims(), Strides(shape, dtype), memory, base);
}

}  // namespace

void LoadNumpy() {
  py::module_::import("numpy");
  py::dtype::of<float>();
}

py::array MakeZeros(const Shape& shape, DType dtype) {
  py::array array(NumpyType(dtype), shape.dims(), Strides(shape, dtype));
  std::fill_n(static_cast<char*>(array.mutable_data()), shape.count() * ElementBytes(dtype), '\0');
  return array;
}

py::array ShowMemory(const Tensor& tensor, const std::shared_ptr<void>& owner) {
  return MakeArray(tensor.shape, tensor.dtype, tensor.raw, owner);
}

struct Views::Copy {
  Tensor tensor;
  Device* device = nullptr;
  std::shared_ptr<void> owner;
  std::vector<float> host;

  // A 16-bit tensor is widened on its device.
  void Read() {
    if (!Is16Bit(tensor.dtype)) return ReadTensor(tensor, device, host.data());
    const Buffer wide(device, Wide().bytes());
    OpsOf(device).Convert(tensor, Wide())->Run(tensor.raw, wide.data());
    device->CopyToHost(host.data(), wide.data(), Wide().bytes());
  }
  void Write() {
    if (!Is16Bit(tensor.dtype)) return WriteTensor(host, tensor, device);
    const Buffer wide(device, Wide().bytes());
    device->CopyFromHost(wide.data(), host.data(), Wide().bytes());
    OpsOf(device).Convert(Wide(), tensor)->Run(wide.data(), tensor.raw);
    device->Synchronize();
  }
  TensorSpec Wide() const { return {tensor.shape, DType::kFloat32, Layout()}; }
};

py::array Views::Show(const Tensor& tensor, Device* device, const std::shared_ptr<void>& owner) {
  if (ShownInPlace(tensor, *device)) return ShowMemory(tensor, owner);
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[tensor.raw];
  std::shared_ptr<Copy> copy = entry.shown.lock();
  if (copy == nullptr || copy->owner != owner || copy->tensor.count() != tensor.count()) {
    copy = std::make_shared<Copy>();
    copy->tensor = tensor;
    copy->device = device;
    copy->owner = owner;
    copy->host.resize(tensor.count());
    copy->Read();
    entry.shown = copy;
  }
  entry.written = copy;
  return MakeArray(tensor.shape, DType::kFloat32, copy->host.data(), copy);
}

void Views::Push() {
  // Destroyed after the lock is released, because an owner's destructor may call any code.
  std::vector<std::shared_ptr<Copy>> written;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& entry : entries_) {
    if (std::shared_ptr<Copy> copy = entry.second.shown.lock()) {
      copy->Write();
      written.push_back(std::move(copy));
    }
    entry.second.written.reset();
  }
}

void Views::Pull() {
  std::vector<std::shared_ptr<Copy>> held;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    std::shared_ptr<Copy> copy = entry->second.shown.lock();
    if (copy == nullptr) {
      entry = entries_.erase(entry);
      continue;
    }
    copy->Read();
    held.push_back(std::move(copy));
    ++entry;
  }
}

}  // namespace doppio
