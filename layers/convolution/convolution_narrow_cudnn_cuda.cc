// Convolution by cuDNN with 16-bit activations, described as graphs. Bias, sum and ReLU are part of
// the forward graph if an engine supports them and is faster than a plain engine followed by one
// more pass over the top. Likewise, an engine writes a filter's gradient in single precision,
// unless writing it in 16 bits and widening it in one more pass is faster.
#include "core/math/cudnn_candidates.h"
#include "core/math/cudnn_choices.h"
#include "core/math/cudnn_step.h"
#include "layers/convolution/cudnn_extents_cuda.h"
#include "layers/convolution/narrow_convolution_cuda.h"

namespace doppio {
namespace {

// The directions that a layer needs. A step is null if the layer does not need it or if cuDNN
// cannot compute it.
class NarrowSteps {
 public:
  NarrowSteps(const KernelArgs& args, const ConvGeometry& g)
      : device_(args.device),
        args_(args),
        extents_(g),
        case_{extents_.x, extents_.w, extents_.y, extents_.shape, args.tops[0]},
        needs_(args) {
    const ChainTail chain(args.chain);
    CudnnEpilogue tail{g.bias, chain.sum, chain.relu.has_value()};
    const bool any = (tail.bias || tail.other || tail.relu) && !g.transposed;
    if (any && !(chain.relu && chain.relu->slope != 0)) {
      ChooseForward(tail);
    } else if (needs_.multiply) {
      forward = Forward(CudnnEpilogue());
    }
    if (needs_.data) data = Data();
    if (needs_.filter) ChooseFilter({g.out_channels, g.in_channels / g.group, g.kernel_count()});
  }

  // Returns why the layer must be declined, or an empty string.
  std::string WhyNot() const {
    const char* direction = needs_.multiply && forward == nullptr ? "forward"
                            : needs_.data && data == nullptr      ? "backward-data"
                            : needs_.filter && filter == nullptr  ? "backward-filter"
                                                                  : nullptr;
    return direction == nullptr ? "" : WhyNoCudnn(*device_, direction);
  }
  int64_t workspace_bytes() const {
    int64_t bytes = 0;
    for (const auto& step : {forward, data, filter}) {
      if (step != nullptr) bytes = std::max(bytes, step->workspace_bytes());
    }
    return bytes;
  }

  std::shared_ptr<CudnnGraphStep> forward, data, filter;
  bool has_tail = false;                    // true if `forward` includes the tail
  DType filter_gradient = DType::kFloat32;  // the type that `filter` writes

 private:
  using Memory = CudnnGraphStep::Memory;

  // A gradient that is rounded to 16 bits must be this much faster to be chosen.
  static constexpr float kRoundedWeighs = 1.1f;

  void ChooseForward(const CudnnEpilogue& tail) {
    std::vector<Memory> memory = Tensors(case_.type);
    AddTail(tail, &memory);
    CudnnCandidate fused, plain;
    fused.name = "one graph";
    plain.name = "a graph without the tail, and a pass";
    for (const Memory& one : memory) fused.roles.push_back(one.role);
    fused.find = [&] { return Forward(tail); };
    plain.roles = {CudnnRole::kBottom, CudnnRole::kWeights, CudnnRole::kTop};
    plain.find = [&] { return Forward(CudnnEpilogue()); };
    plain.after = [&](const CudnnTimer& at) {
      GpuTail pass;
      pass.channels = case_.y[1];
      pass.bias = static_cast<const float*>(at.at(CudnnRole::kBias));
      pass.other = at.at(CudnnRole::kOther);
      pass.relu = tail.relu;
      LaunchTail(GpuOf(device_), pass, ConvGeometry::Product(case_.y) / case_.y[1], case_.type,
                 at.at(CudnnRole::kTop));
    };
    const ChosenCandidate way =
        ChooseCandidate(device_, Key("way " + NameOf(tail)), "top", memory, {fused, plain});
    args_.Note(way.choice);
    forward = way.step;
    has_tail = forward != nullptr && way.index == 0;
  }

  void ChooseFilter(const FilterShape& filter_shape) {
    std::vector<Memory> memory = Tensors(DType::kFloat32);
    // The gradient in plain layout.
    memory.push_back({CudnnRole::kOther, Bytes(case_.w, DType::kFloat32)});
    const DType types[] = {DType::kFloat32, case_.type};
    std::vector<CudnnCandidate> candidates;
    for (const DType type : types) {
      CudnnCandidate way;
      way.name = std::string("in ") + Name(type);
      way.roles = {CudnnRole::kBottom, CudnnRole::kWeights, CudnnRole::kTop};
      way.find = [this, type] { return Filter(type); };
      if (type != DType::kFloat32) way.weight = kRoundedWeighs;
      way.slow = type == DType::kFloat32 && !FillsAGpu();
      if (type != DType::kFloat32 || !filter_shape.same_in_both_orders()) {
        way.after = [this, type, &filter_shape](const CudnnTimer& at) {
          LaunchFilterGradient(GpuOf(device_), filter_shape, type, at.at(CudnnRole::kWeights),
                               false, static_cast<float*>(at.at(CudnnRole::kOther)));
        };
      }
      candidates.push_back(std::move(way));
    }
    const ChosenCandidate way = ChooseCandidate(device_, Key("way backward-filter"),
                                                "weights' gradient", memory, candidates);
    args_.Note(way.choice);
    filter = way.step;
    filter_gradient = types[way.index];
  }

  // Returns false if most of a GPU would idle while it computes a filter's gradient in single
  // precision. cuDNN 9's engines for it do not split the sum over the pixels, so one block computes
  // one tile of the gradient: measured on an H200, 5 ns per pixel however small the gradient is.
  bool FillsAGpu() const {
    constexpr int64_t kTile = 128, kTiles = 64, kFewPixels = 1 << 14;
    const auto tiles = [](int64_t n) { return (n + kTile - 1) / kTile; };
    const int64_t group = case_.shape.group, outputs = case_.w[0] / group;
    const int64_t inputs = ConvGeometry::Product(case_.w) / case_.w[0];
    const int64_t pixels = ConvGeometry::Product(case_.y) / case_.y[1];
    return pixels <= kFewPixels || group * tiles(outputs) * tiles(inputs) >= kTiles;
  }

  static int64_t Bytes(const std::vector<int64_t>& dims, DType type) {
    return ConvGeometry::Product(dims) * ElementBytes(type);
  }
  std::vector<Memory> Tensors(DType weights) const {
    return {{CudnnRole::kBottom, Bytes(case_.x, case_.type)},
            {CudnnRole::kWeights, Bytes(case_.w, weights)},
            {CudnnRole::kTop, Bytes(case_.y, case_.type)}};
  }
  std::shared_ptr<CudnnGraphStep> Find(const std::string& what, const CudnnGraphStep::Describe& how,
                                       const std::vector<Memory>& memory) const {
    return CudnnGraphStep::Find(device_, Key(what), how, memory);
  }
  std::string Key(const std::string& what) const {
    return what + " " + extents_.ToString() + ", " + Name(case_.type);
  }
  static std::string NameOf(const CudnnEpilogue& tail) {
    return std::string("graph forward") + (tail.bias ? " + bias" : "") +
           (tail.other ? " + sum" : "") + (tail.relu ? " + relu" : "");
  }
  void AddTail(const CudnnEpilogue& tail, std::vector<Memory>* memory) const {
    if (tail.bias) memory->push_back({CudnnRole::kBias, Bytes({case_.y[1]}, DType::kFloat32)});
    if (tail.other) memory->push_back({CudnnRole::kOther, Bytes(case_.y, case_.type)});
  }

  std::shared_ptr<CudnnGraphStep> Forward(const CudnnEpilogue& tail) const {
    std::vector<Memory> memory = Tensors(case_.type);
    AddTail(tail, &memory);
    return Find(
        NameOf(tail),
        [&](const CudnnTarget& target) { return CudnnGraph::Forward(target, case_, tail); },
        memory);
  }
  std::shared_ptr<CudnnGraphStep> Data() const {
    return Find(
        "graph backward-data",
        [&](const CudnnTarget& target) { return CudnnGraph::BackwardData(target, case_); },
        Tensors(case_.type));
  }
  std::shared_ptr<CudnnGraphStep> Filter(DType type) const {
    return Find(
        std::string("graph backward-filter in ") + Name(type),
        [&](const CudnnTarget& target) { return CudnnGraph::BackwardFilter(target, case_, type); },
        Tensors(type));
  }

  Device* const device_;
  const KernelArgs& args_;  // valid in the constructor
  const CudnnExtents extents_;
  const CudnnConvolutionCase case_;
  const ConvolutionNeeds needs_;
};

class CudnnNarrowConvolution : public NarrowConvolution {
 public:
  explicit CudnnNarrowConvolution(const KernelArgs& args)
      : NarrowConvolution(args), steps_(args, g_) {
    DOPPIO_CHECK(steps_.WhyNot().empty(), "a convolution that was declined");
    workspace_at_ = steps_.filter == nullptr
                        ? 0
                        : AlignedBytes(filter_.count() * ElementBytes(steps_.filter_gradient));
    NeedScratch(workspace_at_ + steps_.workspace_bytes());
  }

 protected:
  bool Multiply(const void* x, void* y) override {
    std::vector<CudnnPlan::Place> places = Places(x, rounded_weights(), y);
    if (steps_.has_tail) {
      const GpuTail after = tail();
      if (after.bias != nullptr) places.push_back({CudnnRole::kBias, after.bias});
      if (after.other != nullptr) places.push_back({CudnnRole::kOther, after.other});
    }
    Run(steps_.forward.get(), places, "a convolution");
    return steps_.has_tail;
  }

  void WeightGradient(const void* x, const void* dy, bool add, float* dw) override {
    const DType type = steps_.filter_gradient;
    const bool direct = type == DType::kFloat32 && !add && filter_.same_in_both_orders();
    void* to = direct ? dw : t_.scratch;
    Run(steps_.filter.get(), Places(x, to, dy), "the gradient of a filter");
    if (!direct) LaunchFilterGradient(gpu(), filter_, type, to, add, dw);
  }

  void DataGradient(const void* dy, void* dx) override {
    Run(steps_.data.get(), Places(dx, rounded_weights(), dy),
        "the gradient of a convolution's bottom");
  }

 private:
  static std::vector<CudnnPlan::Place> Places(const void* x, const void* w, const void* y) {
    return {{CudnnRole::kBottom, x}, {CudnnRole::kWeights, w}, {CudnnRole::kTop, y}};
  }

  void Run(CudnnGraphStep* step, const std::vector<CudnnPlan::Place>& places, const char* doing) {
    GpuOf(device_);  // makes the device the thread's current one
    step->Run(places, static_cast<char*>(t_.scratch) + workspace_at_, doing);
  }

  const NarrowSteps steps_;
  int64_t workspace_at_ = 0;  // offset in the scratch memory, after the weights' gradient
};

}  // namespace

std::string WhyNotNarrowCudnnConvolution(const KernelArgs& args) {
  const ConvGeometry& g = args.Form<ConvGeometry>();
  for (const std::string& why : {WhyNotNarrow(args), WhyNotCudnn(g)}) {
    if (!why.empty()) return why;
  }
  try {
    return NarrowSteps(args, g).WhyNot();
  } catch (const DeviceError& e) {
    return e.message();  // cuDNN is missing, or does not support this GPU
  }
}

std::unique_ptr<Kernel> MakeNarrowCudnnConvolution(const KernelArgs& args) {
  return std::make_unique<CudnnNarrowConvolution>(args);
}

}  // namespace doppio
