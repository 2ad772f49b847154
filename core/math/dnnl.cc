#include "core/math/dnnl.h"

#include <cstring>

#include "core/base/error.h"

namespace doppio {

dnnl::engine& DnnlEngine() {
  static dnnl::engine* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
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
  // oneDNN has no scalars.
  return shape.rank() == 0 ? dnnl::memory::dims{1} : dnnl::memory::dims(shape.dims());
}

dnnl::memory::desc PlainDesc(const Shape& shape) {
  const dnnl::memory::dims dims = DnnlDims(shape);
  dnnl::memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, strides);
}

dnnl::memory::desc AnyDesc(const Shape& shape) {
  return dnnl::memory::desc(DnnlDims(shape), dnnl::memory::data_type::f32,
                            dnnl::memory::format_tag::any);
}

dnnl::memory::desc DescOf(const TensorSpec& spec) {
  if (spec.layout.plain()) return PlainDesc(spec.shape);
  dnnl_memory_desc_t raw;
  DOPPIO_CHECK(spec.layout.descriptor().size() == sizeof raw, "not a oneDNN layout");
  std::memcpy(&raw, spec.layout.descriptor().data(), sizeof raw);
  return dnnl::memory::desc(raw);
}

Layout LayoutOf(const dnnl::memory::desc& desc) {
  const dnnl::memory::dims dims = desc.dims();
  if (desc == PlainDesc(Shape(std::vector<int64_t>(dims.begin(), dims.end())))) return Layout();
  // Only the fields that describe the layout, so that equal layouts have equal bytes.
  dnnl_memory_desc_t raw;
  std::memset(static_cast<void*>(&raw), 0, sizeof raw);
  const dnnl_memory_desc_t& from = desc.data;
  raw.ndims = from.ndims;
  std::copy(from.dims, from.dims + from.ndims, raw.dims);
  raw.data_type = from.data_type;
  std::copy(from.padded_dims, from.padded_dims + from.ndims, raw.padded_dims);
  std::copy(from.padded_offsets, from.padded_offsets + from.ndims, raw.padded_offsets);
  raw.offset0 = from.offset0;
  raw.format_kind = from.format_kind;
  DOPPIO_CHECK(from.format_kind == dnnl_blocked, "a layout that is not blocked");
  std::copy(from.format_desc.blocking.strides, from.format_desc.blocking.strides + from.ndims,
            raw.format_desc.blocking.strides);
  raw.format_desc.blocking.inner_nblks = from.format_desc.blocking.inner_nblks;
  for (int i = 0; i < from.format_desc.blocking.inner_nblks; ++i) {
    raw.format_desc.blocking.inner_blks[i] = from.format_desc.blocking.inner_blks[i];
    raw.format_desc.blocking.inner_idxs[i] = from.format_desc.blocking.inner_idxs[i];
  }
  bool padded = false;
  for (int i = 0; i < from.ndims; ++i) padded = padded || from.padded_dims[i] != from.dims[i];
  return Layout(std::string(reinterpret_cast<const char*>(&raw), sizeof raw),
                static_cast<int64_t>(desc.get_size() / sizeof(float)), padded);
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

void CopyTensor(const Tensor& from, const Tensor& to) {
  if (from.layout == to.layout) {
    std::memcpy(to.raw, from.raw, static_cast<size_t>(from.bytes()));
    return;
  }
  dnnl::memory::desc source = DescOf(from), target = DescOf(to);
  if (source.dims() != target.dims()) {
    if (from.layout.plain()) {
      source = PlainDesc(Shape(target.dims()));
    } else if (to.layout.plain()) {
      target = PlainDesc(Shape(source.dims()));
    } else {
      // Two opaque layouts under different dims meet only in the plain one.
      TensorSpec plain = to;
      plain.layout = Layout();
      std::vector<char> memory(static_cast<size_t>(plain.bytes()));
      CopyTensor(from, Tensor(plain, memory.data()));
      CopyTensor(Tensor(plain, memory.data()), to);
      return;
    }
  }
  Reorder(source, target).Run(from.raw, to.raw);
}

}  // namespace doppio
