#include "core/math/dnnl.h"

#include <cstring>

#include "core/base/error.h"

namespace doppio {
namespace {

// Serialises a layout as the descriptor of a Layout: the numbers of axes and of inner blocks, then
// the vectors of the Blocking. Equal layouts have equal bytes, regardless of the primitive that
// created them.
std::string BytesOf(const Blocking& blocking) {
  std::vector<int64_t> numbers = {blocking.rank(),
                                  static_cast<int64_t>(blocking.inner_blocks.size())};
  for (const auto* row : {&blocking.dims, &blocking.padded_dims, &blocking.strides,
                          &blocking.inner_blocks, &blocking.inner_axes}) {
    numbers.insert(numbers.end(), row->begin(), row->end());
  }
  return std::string(reinterpret_cast<const char*>(numbers.data()),
                     numbers.size() * sizeof(int64_t));
}

Blocking BlockingFrom(const std::string& bytes) {
  std::vector<int64_t> numbers(bytes.size() / sizeof(int64_t));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(int64_t));
  DOPPIO_CHECK(numbers.size() >= 2 && numbers.size() * sizeof(int64_t) == bytes.size() &&
                   static_cast<int64_t>(numbers.size()) == 2 + 3 * numbers[0] + 2 * numbers[1],
               "not a oneDNN layout");
  auto next = numbers.begin() + 2;
  const auto take = [&next](int64_t count) {
    next += count;
    return dnnl::memory::dims(next - count, next);
  };
  Blocking blocking;
  for (auto* row : {&blocking.dims, &blocking.padded_dims, &blocking.strides}) {
    *row = take(numbers[0]);
  }
  for (auto* row : {&blocking.inner_blocks, &blocking.inner_axes}) *row = take(numbers[1]);
  return blocking;
}

dnnl::memory::data_type TypeOf(DType type) {
  if (type == DType::kBFloat16) return dnnl::memory::data_type::bf16;
  return type == DType::kFloat16 ? dnnl::memory::data_type::f16 : dnnl::memory::data_type::f32;
}

}  // namespace

dnnl::engine& DnnlEngine() {
  static dnnl::engine* engine = [] {
    DisableUndescribedAmx();
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *engine;
}

dnnl::stream& DnnlStream() {
  static dnnl::stream* stream = new dnnl::stream(DnnlEngine());
  return *stream;
}

dnnl::primitive_attr DnnlAttr(MathMode math) {
  dnnl::primitive_attr attr;
  if (math == MathMode::kBFloat16) attr.set_fpmath_mode(dnnl::fpmath_mode::bf16);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::memory::dims DnnlDims(const Shape& shape) {
  // oneDNN does not support scalars.
  return shape.rank() == 0 ? dnnl::memory::dims{1} : dnnl::memory::dims(shape.dims());
}

dnnl::memory::desc PlainDesc(const Shape& shape, DType type) {
  const dnnl::memory::dims dims = DnnlDims(shape);
  dnnl::memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return dnnl::memory::desc(dims, TypeOf(type), strides);
}

dnnl::memory::desc AnyDesc(const Shape& shape, DType type) {
  return dnnl::memory::desc(DnnlDims(shape), TypeOf(type), dnnl::memory::format_tag::any);
}

dnnl::memory::desc DescOf(const TensorSpec& spec) {
  if (spec.layout.plain()) return PlainDesc(spec.shape, spec.dtype);
  return DescOf(BlockingFrom(spec.layout.descriptor()), TypeOf(spec.dtype));
}

dnnl::memory::desc WithType(const dnnl::memory::desc& desc, DType type) {
  return DescOf(BlockingOf(desc), TypeOf(type));
}

Layout LayoutOf(const dnnl::memory::desc& desc) {
  const dnnl::memory::desc single = WithType(desc, DType::kFloat32);
  if (single == PlainDesc(Shape(DimsOf(single)))) return Layout();
  const Blocking blocking = BlockingOf(single);
  return Layout(BytesOf(blocking), static_cast<int64_t>(single.get_size() / sizeof(float)),
                blocking.padded_dims != blocking.dims);
}

dnnl::memory MemoryAt(const dnnl::memory::desc& desc, void* raw) {
  return dnnl::memory(desc, DnnlEngine(), raw == nullptr ? DNNL_MEMORY_NONE : raw);
}

void Execute(const dnnl::primitive& primitive, const std::unordered_map<int, dnnl::memory>& args) {
  try {
    primitive.execute(DnnlStream(), args);
    DnnlStream().wait();
  } catch (const dnnl::error& e) {
    throw Error(ExitCode::kBug, std::string("internal error: oneDNN: ") + e.what());
  }
}

Reorder::Reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to)
    : from_(from),
      to_(to),
      primitive_(dnnl::reorder::primitive_desc(DnnlEngine(), from, DnnlEngine(), to)) {}

void Reorder::Run(const void* from, void* to) const {
  Execute(primitive_, {{DNNL_ARG_FROM, MemoryAt(from_, const_cast<void*>(from))},
                       {DNNL_ARG_TO, MemoryAt(to_, to)}});
}

Reorder ReorderBetween(const TensorSpec& from, const TensorSpec& to) {
  dnnl::memory::desc source = DescOf(from), target = DescOf(to);
  if (DimsOf(source) != DimsOf(target)) {
    if (from.layout.plain()) {
      source = PlainDesc(Shape(DimsOf(target)), from.dtype);
    } else {
      DOPPIO_CHECK(to.layout.plain(), "two opaque layouts with different axes");
      target = PlainDesc(Shape(DimsOf(source)), to.dtype);
    }
  }
  return Reorder(source, target);
}

void CopyTensor(const Tensor& from, const Tensor& to) {
  if (from.layout == to.layout) {
    std::memcpy(to.raw, from.raw, from.bytes());
    return;
  }
  const bool plain = from.layout.plain() || to.layout.plain();
  if (plain || DimsOf(DescOf(from)) == DimsOf(DescOf(to))) {
    ReorderBetween(from, to).Run(from.raw, to.raw);
    return;
  }
  // Two opaque layouts with different axes have only the plain layout in common, so copy through
  // it.
  TensorSpec middle = to;
  middle.layout = Layout();
  std::vector<char> memory(middle.bytes());
  CopyTensor(from, Tensor(middle, memory.data()));
  CopyTensor(Tensor(middle, memory.data()), to);
}

}  // namespace doppio
