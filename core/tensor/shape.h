// The extents of an array, outermost axis first (N, C, H, W for images), and Caffe's rules for
// axes.
#ifndef DOPPIO_CORE_TENSOR_SHAPE_H_
#define DOPPIO_CORE_TENSOR_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace doppio {

class Shape {
 public:
  Shape() = default;  // a scalar: rank 0, one element
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t& operator[](int axis) { return dims_[axis]; }
  const std::vector<int64_t>& dims() const { return dims_; }

  // Return the number of elements in all axes, in axes [begin, rank), or in axes [begin, end).
  int64_t count() const { return count(0, rank()); }
  int64_t count(int begin) const { return count(begin, rank()); }
  int64_t count(int begin, int end) const {
    int64_t n = 1;
    for (int i = begin; i < end; ++i) n *= (*this)[i];
    return n;
  }

  // Returns the extent of `axis`, or 1 if `axis` is beyond the rank. For Caffe's legacy names num,
  // channels, height and width.
  int64_t dim_or_1(int axis) const { return axis < rank() ? (*this)[axis] : 1; }

  // Returns true if `axis` is in [-rank, rank). A negative axis counts from the end.
  bool has_axis(int axis) const { return axis >= -rank() && axis < rank(); }
  // Returns `axis` as a non-negative number. `axis` must satisfy has_axis.
  int canonical_axis(int axis) const { return axis < 0 ? axis + rank() : axis; }

  void push_back(int64_t dim) { dims_.push_back(dim); }
  bool operator==(const Shape& other) const { return dims_ == other.dims_; }
  bool operator!=(const Shape& other) const { return dims_ != other.dims_; }

  // Returns, for example, "64x3x28x28"; "scalar" for rank 0.
  std::string ToString() const {
    if (dims_.empty()) return "scalar";
    std::string text;
    for (int64_t d : dims_) text += (text.empty() ? "" : "x") + std::to_string(d);
    return text;
  }

 private:
  std::vector<int64_t> dims_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_TENSOR_SHAPE_H_
