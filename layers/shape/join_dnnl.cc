// Concat and Slice in the layouts of oneDNN's convolutions, so that blocked data need no reorder.
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/math/dnnl.h"
#include "layers/common/stored_kernel.h"
#include "layers/shape/join.h"

namespace doppio {
namespace {

struct JoinFormat {
  int rank;
  dnnl::memory::format_tag tag;
  int64_t block;  // channels per innermost block
  bool channels_last;
};

const std::vector<JoinFormat>& JoinFormats() {
  using Tag = dnnl::memory::format_tag;
  static const std::vector<JoinFormat> formats = {
      {3, Tag::aBc16b, 16, false}, {3, Tag::aBc8b, 8, false},    {3, Tag::aBc4b, 4, false},
      {3, Tag::acb, 1, true},      {4, Tag::aBcd16b, 16, false}, {4, Tag::aBcd8b, 8, false},
      {4, Tag::aBcd4b, 4, false},  {4, Tag::acdb, 1, true},      {5, Tag::aBcde16b, 16, false},
      {5, Tag::aBcde8b, 8, false}, {5, Tag::aBcde4b, 4, false},  {5, Tag::acdeb, 1, true},
  };
  return formats;
}

// Returns the layout of a tensor of `shape` in the format.
Layout JoinLayoutIn(const JoinFormat& format, const Shape& shape) {
  return LayoutOf(dnnl::memory::desc(DnnlDims(shape), dnnl::memory::data_type::f32, format.tag));
}

// Returns true if the format has the right rank and all parts but the last consist of whole blocks
// along the axis.
bool JoinFormatFits(const JoinFormat& format, const JoinForm& form) {
  if (format.rank != form.whole.rank()) return false;
  for (size_t p = 0; form.axis == 1 && p + 1 < form.parts.size(); ++p) {
    if (form.parts[p][1] % format.block != 0) return false;
  }
  return true;
}

// Returns the join of elements of `type` in the layout that most elements of `bottoms` already
// have, or in the plain layout if no other one fits. `bottoms` are the parts (Concat), or the whole
// alone (Slice).
JoinRuns ChooseJoin(const JoinForm& form, DType type, const std::vector<TensorSpec>& bottoms) {
  auto elements_in = [&](const JoinFormat* format) {
    int64_t n = 0;
    for (const TensorSpec& bottom : bottoms) {
      const Layout layout = format == nullptr ? Layout() : JoinLayoutIn(*format, bottom.shape);
      if (bottom.layout == layout) n += bottom.shape.count();
    }
    return n;
  };
  JoinRuns best = MakePlainJoin(form, type);
  int64_t most = elements_in(nullptr);
  for (const JoinFormat& format : JoinFormats()) {
    if (!JoinFormatFits(format, form)) continue;
    const int64_t elements = elements_in(&format);
    if (elements <= most) continue;
    most = elements;
    std::vector<int> order(format.rank);
    std::iota(order.begin(), order.end(), 0);
    if (format.channels_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    best = MakeJoin(form, type, order, format.block);
    best.whole = JoinLayoutIn(format, form.whole);
    for (size_t p = 0; p < form.parts.size(); ++p) {
      best.parts[p] = JoinLayoutIn(format, form.parts[p]);
    }
  }
  return best;
}

class DnnlJoin : public JoinKernel {
 public:
  explicit DnnlJoin(const KernelArgs& args)
      : JoinKernel(args, ChooseJoin(args.Form<JoinForm>(), args.tops[0], args.bottoms)) {}
};

std::unique_ptr<Kernel> MakeJoinDnnl(const KernelArgs& args) {
  return std::make_unique<StoredKernel<DnnlJoin>>(args);
}

std::string JoinDnnlDeclines(const KernelArgs& args) {
  if (args.tops[0] == DType::kFloat64) return "oneDNN's layouts are not of float64";
  for (DType top : args.tops) {
    if (top != args.tops[0]) return "its tops are stored in different types";
  }
  return "";
}

[[maybe_unused]] const bool join_dnnl_registered = [] {
  for (const char* type : {"Concat", "Slice"}) {
    KernelTypes::Get().Add(KernelType(type, &MakeJoinDnnl)
                               .Engine("onednn")
                               .Rank(10)
                               .Declines(&JoinDnnlDeclines)
                               .Narrow());
  }
  return true;
}();

}  // namespace
}  // namespace doppio
