#include "core/net/plan/host_kernel.h"

#include <algorithm>
#include <utility>

#include "core/net/plan/kernel_wrapper.h"

namespace doppio {
namespace {

// The CPU device that is attached to another device.
struct HostSide {
  explicit HostSide(Device*) {}
  const std::unique_ptr<Device> cpu = MakeCpuDevice();
};

// A tensor on the device and its counterpart on the host.
class Mirror {
 public:
  Mirror() = default;
  Mirror(const Tensor& there, Device* cpu)
      : there_(there), memory_(cpu, there ? there.bytes() : 0) {}
  Tensor here() const { return Tensor(there_, memory_.data()); }
  void Down(Device* device) const {
    if (there_) device->CopyToHost(memory_.data(), there_.raw, there_.bytes());
  }
  void Up(Device* device) const {
    if (there_) device->CopyFromHost(there_.raw, memory_.data(), there_.bytes());
  }

 private:
  Tensor there_;
  Buffer memory_;
};

Device* HostOf(const KernelArgs& args) {
  return args.device->attached().Get<HostSide>("host_side").cpu.get();
}

// Returns the arguments of the kernel on the host.
KernelArgs OnHost(KernelArgs args) {
  args.device = HostOf(args);
  // Channels-last tensors on the device are converted to the plain layout first.
  for (TensorSpec& bottom : args.bottoms) bottom.layout = Layout();
  return args;
}

class HostKernel : public KernelWrapper {
 public:
  HostKernel(const KernelArgs& args, const LayerShape& shape, const KernelType& type)
      : KernelWrapper(type.make(OnHost(args))),
        device_(args.device),
        cpu_(HostOf(args)),
        persistent_tops_(shape.persistent_tops) {
    for (const ParamShape& param : shape.params) statistics_ = statistics_ || !param.trainable;
  }

  // Returns true if the kernel uses only plain layouts, because the copied tensors are plain.
  static bool TakesPlain(const Kernel& kernel) {
    const KernelNeeds& needs = kernel.needs();
    auto plain = [](const Layout& layout) { return layout.plain(); };
    return std::all_of(needs.bottoms.begin(), needs.bottoms.end(), plain) &&
           std::all_of(needs.tops.begin(), needs.tops.end(), plain) &&
           std::all_of(needs.params.begin(), needs.params.end(), plain);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    KernelTensors own;
    auto mirror = [&](const std::vector<Tensor>& from, std::vector<Mirror>* mirrors,
                      std::vector<Tensor>* to) {
      for (const Tensor& tensor : from) {
        mirrors->emplace_back(tensor, cpu_);
        to->push_back(mirrors->back().here());
      }
    };
    mirror(t_.bottoms, &bottoms_, &own.bottoms);
    mirror(t_.tops, &tops_, &own.tops);
    mirror(t_.params, &params_, &own.params);
    mirror(t_.bottom_grads, &bottom_grads_, &own.bottom_grads);
    mirror(t_.top_grads, &top_grads_, &own.top_grads);
    mirror(t_.param_grads, &param_grads_, &own.param_grads);
    saved_ = Buffer(cpu_, inner()->needs().saved_bytes);
    scratch_ = Buffer(cpu_, inner()->needs().scratch_bytes);
    own.saved = saved_.data();
    own.scratch = scratch_.data();
    inner()->Bind(std::move(own));
  }

  void Forward(const Pass& pass) override {
    Down(bottoms_);
    Down(params_);
    // The caller writes these tops on the device, so the host needs a copy.
    if (persistent_tops_) Down(tops_);
    KernelWrapper::Forward(pass);
    Up(tops_);
    if (statistics_) Up(params_);
  }

  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    // Bottoms, tops and parameters have been on the host since Forward.
    Down(top_grads_);
    for (size_t i = 0; i < param_grads_.size(); ++i) {
      if (add[i]) param_grads_[i].Down(device_);
    }
    KernelWrapper::Backward(pass, add);
    Up(bottom_grads_);
    Up(param_grads_);
  }

  bool same_every_pass() const override { return false; }

 private:
  void Down(const std::vector<Mirror>& mirrors) const {
    for (const Mirror& mirror : mirrors) mirror.Down(device_);
  }
  void Up(const std::vector<Mirror>& mirrors) const {
    for (const Mirror& mirror : mirrors) mirror.Up(device_);
  }

  Device* device_;
  Device* cpu_;
  const bool persistent_tops_;
  bool statistics_ = false;  // Forward changes parameters
  std::vector<Mirror> bottoms_, tops_, params_, bottom_grads_, top_grads_, param_grads_;
  Buffer saved_, scratch_;
};

}  // namespace

std::unique_ptr<Kernel> MakeHostKernel(const KernelArgs& args, const LayerShape& shape) {
  if (args.chain != nullptr) return nullptr;
  for (const KernelType* type : KernelTypes::Get().For(args.type, DeviceKind::kCpu)) {
    if (type->engine != "reference") continue;
    if (type->declines != nullptr && !type->declines(args).empty()) continue;
    auto kernel = std::make_unique<HostKernel>(args, shape, *type);
    if (HostKernel::TakesPlain(*kernel->inner())) return kernel;
  }
  return nullptr;
}

const KernelType& HostKernelType() {
  static const KernelType type = KernelType("", nullptr).Engine("host");
  return type;
}

}  // namespace doppio
