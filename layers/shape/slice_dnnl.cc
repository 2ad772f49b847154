// Slice of float32 in the layouts that oneDNN's convolutions make.
#include "layers/shape/join_dnnl.h"
#include "layers/shape/joined_axis.h"

namespace doppio {
namespace {

std::unique_ptr<Kernel> MakeSliceDnnl(const KernelArgs& args) {
  const Shape& bottom = args.bottoms[0].shape;
  return std::make_unique<JoinKernel>(
      ChooseJoin(args.shape->tops, bottom, SliceAxis(*args.spec, bottom), args.bottoms), false);
}

std::string SliceDnnlDeclines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : "oneDNN's layouts are of float32";
}

DOPPIO_REGISTER_KERNEL({"Slice", DeviceKind::kCpu, "onednn", 10, &MakeSliceDnnl,
                        &SliceDnnlDeclines});

}  // namespace
}  // namespace doppio
