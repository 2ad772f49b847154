// Concat of float32 in the layouts that oneDNN's convolutions make.
#include "layers/shape/join_dnnl.h"
#include "layers/shape/joined_axis.h"

namespace doppio {
namespace {

std::unique_ptr<Kernel> MakeConcatDnnl(const KernelArgs& args) {
  std::vector<Shape> parts;
  for (const TensorSpec& bottom : args.bottoms) parts.push_back(bottom.shape);
  return std::make_unique<JoinKernel>(
      ChooseJoin(parts, args.shape->tops[0], ConcatAxis(*args.spec, parts[0]), args.bottoms), true);
}

std::string ConcatDnnlDeclines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : "oneDNN's layouts are of float32";
}

DOPPIO_REGISTER_KERNEL({"Concat", DeviceKind::kCpu, "onednn", 10, &MakeConcatDnnl,
                        &ConcatDnnlDeclines});

}  // namespace
}  // namespace doppio
