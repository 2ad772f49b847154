#include "tools/timing/layer_detail.h"
#include "tools/cli/word_list.h"

namespace doppio {
namespace {

// Returns the strides of a convolution or pooling layer: "/2" or "/2×1"; "" if they are 1.
template <class P>
std::string Strides(const P& p, uint32_t single) {
  const uint32_t h = p.has_stride_h() ? p.stride_h() : single;
  const uint32_t w = p.has_stride_w() ? p.stride_w() : single;
  if (h == 1 && w == 1) return "";
  return "/" + std::to_string(h) + (h == w ? "" : "×" + std::to_string(w));
}

std::string Window(uint32_t h, uint32_t w) {
  return " " + std::to_string(h) + "×" + std::to_string(w);
}

}  // namespace

std::string LayerDetail(const LayerParameter& layer) {
  if (layer.has_convolution_param()) {
    const ConvolutionParameter& p = layer.convolution_param();
    std::string window;
    if (p.kernel_size_size() > 1) {
      std::vector<std::string> extents;
      for (uint32_t k : p.kernel_size()) extents.push_back(std::to_string(k));
      window = " " + Join(extents, "×");
    } else {
      const uint32_t size = p.kernel_size_size() == 1 ? p.kernel_size(0) : 0;
      window =
          Window(p.has_kernel_h() ? p.kernel_h() : size, p.has_kernel_w() ? p.kernel_w() : size);
    }
    return StrCat(window, Strides(p, p.stride_size() > 0 ? p.stride(0) : 1),
                  p.group() > 1 ? ", " + std::to_string(p.group()) + " groups" : "");
  }
  if (layer.has_pooling_param()) {
    const PoolingParameter& p = layer.pooling_param();
    const std::string method = " " + PoolingParameter::PoolMethod_Name(p.pool());
    if (p.global_pooling()) return method + " global";
    return method +
           Window(p.has_kernel_h() ? p.kernel_h() : p.kernel_size(),
                  p.has_kernel_w() ? p.kernel_w() : p.kernel_size()) +
           Strides(p, p.stride());
  }
  return "";
}

}  // namespace doppio
