// Runs a net with and without fusion and compares the results: fused layers must compute the same
// tops bit for bit as separate ones, and the same gradients up to rounding.
#ifndef DOPPIO_TESTS_LAYERS_COMMON_FUSION_CASE_H_
#define DOPPIO_TESTS_LAYERS_COMMON_FUSION_CASE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/device/kind_cuda.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/test_layers.h"

namespace doppio {

// A net whose `layers` read the blobs x and other, both of one shape, and write y, which a probe
// reads.
struct NetCase {
  std::string layers;
  Shape shape{3, 20, 5, 7};
  int block = 0;  // channels per block of x and other; 0 for the plain layout
  DType dtype = DType::kFloat32;
  Phase phase = TRAIN;
  bool backward = true, bottoms_learn = true;
  DType rounded = DType::kFloat32;  // type to which the values of x and other are rounded
  DType stored = DType::kFloat32;   // type in which activations are stored
  bool channels_last = false;       // layout of x and other on a GPU

  std::string Text() const {
    std::string dims;
    for (int64_t d : shape.dims()) dims += " dim: " + std::to_string(d);
    return "layer { name: 'in' type: 'TestSource" +
           (block > 0 ? "Blocked" + std::to_string(block)
                      : std::string(channels_last ? "Last" : "")) +
           "' top: 'x' top: 'other' param { lr_mult: " + (bottoms_learn ? "1" : "0") +
           " } input_param { shape {" + dims + " } shape {" + dims + " } } }\n" + layers +
           "layer { name: 'probe' type: 'TestProbe' bottom: 'y' top: 'probe' }\n";
  }
};

// The results of a run, copied to the host.
struct Outcome {
  std::vector<std::string> chains;
  std::vector<std::string> copied;      // types of layers that do not use x's type and layout
  std::vector<std::string> unrecorded;  // types of layers that a CUDA graph cannot replay
  std::vector<double> top;
  std::map<std::string, std::vector<double>> values,
      gradients;  // of parameters, keyed "<layer> <index>"; gradients also "bottom <index>"
};

// Returns the layer types of each fused chain, joined by "+", e.g. "BatchNorm+Scale".
inline std::vector<std::string> ChainsOf(const Net& net) {
  std::map<int, std::string> units;
  for (size_t n = 0; n < net.graph().nodes.size(); ++n) {
    std::string& unit = units[net.plan().computed_with[n]];
    unit += (unit.empty() ? "" : "+") + net.graph().layer(static_cast<int>(n)).type();
  }
  std::vector<std::string> chains;
  for (const auto& unit : units) {
    if (unit.second.find('+') != std::string::npos) chains.push_back(unit.second);
  }
  return chains;
}

inline double Rounded(double value, DType type) {
  return DispatchStored(type, [&](auto zero) {
    return static_cast<float>(static_cast<decltype(zero)>(static_cast<float>(value)));
  });
}

// Runs two iterations; the second one adds its gradients to those of the first.
inline Outcome RunOn(Device* device, const NetCase& c, bool fusion) {
  PlanOptions options;
  options.device = device;
  options.dtype = c.dtype;
  options.backward = c.backward;
  options.fusion = fusion;
  ParamStore store(device, c.dtype, 5);
  Net net(GraphFromText(c.Text(), c.phase, c.stored), options, &store);
  // Fills the memory with NaNs, so that a kernel that reads an element before writing it fails.
  for (const Buffer* buffer : {&net.plan().buffers->arenas[0], &net.plan().buffers->scratch[0]}) {
    const std::vector<char> noise(static_cast<size_t>(buffer->bytes()), static_cast<char>(0xff));
    device->CopyFromHost(buffer->data(), noise.data(), buffer->bytes());
  }
  TestSource& source = dynamic_cast<TestSource&>(*InnermostKernel(net.plan().kernel(0)));
  const int last = static_cast<int>(net.graph().nodes.size()) - 1;
  const TestProbe& probe = dynamic_cast<TestProbe&>(*InnermostKernel(net.plan().kernel(last)));
  for (int i = 0; i < 2; ++i) {
    const Random random(11, Stream("bottom", "", i));
    std::vector<double> values;
    for (int64_t e = 0; e < c.shape.count(); ++e) {
      values.push_back(Rounded(random.Uniform(0, static_cast<uint64_t>(e)) * 3 - 1, c.rounded));
    }
    source.values.push_back(values);
  }

  Outcome outcome;
  for (int pass = 0; pass < 2; ++pass) {
    net.Forward();
    if (c.backward) net.Backward(pass == 1);
  }
  outcome.chains = ChainsOf(net);
  for (int n = 1; n < last; ++n) {
    const Plan& plan = net.plan();
    if (plan.computed_with[static_cast<size_t>(n)] != n) continue;
    if (!net.plan().kernel(n)->same_every_pass())
      outcome.unrecorded.push_back(net.graph().layer(n).type());
    const Tensor& top = plan.tensors[static_cast<size_t>(n)].tops[0];
    const bool as_stored =
        net.plan().kernel(n)->inner() == nullptr && top.layout.channels_last() == c.channels_last;
    if (!as_stored || top.dtype != c.stored) outcome.copied.push_back(net.graph().layer(n).type());
  }
  outcome.top = probe.seen[0];
  EXPECT_EQ(probe.padding_in_use, 0);
  EXPECT_EQ(source.padding_in_use, 0);
  for (size_t n = 1; n < net.graph().nodes.size(); ++n) {
    const Node& node = net.graph().nodes[n];
    for (size_t i = 0; i < node.params.size(); ++i) {
      const std::string name =
          net.graph().layer(static_cast<int>(n)).name() + " " + std::to_string(i);
      const Param& param = store.param(net.plan().param_index[node.params[i]]);
      outcome.values[name] = ReadPlain(param.value, device);
      if (c.backward && node.param_gradient[i])
        outcome.gradients[name] = ReadPlain(param.grad, device);
    }
  }
  for (size_t i = 0; i < source.gradients.size(); ++i) {
    outcome.gradients["bottom " + std::to_string(i)] = source.gradients[i];
  }
  return outcome;
}

inline Outcome Run(const NetCase& c, bool fusion) {
  return RunOn(MakeCpuDevice().get(), c, fusion);
}

// Expects each element of `got` within `tolerance` of `want`. The tolerance is relative to the
// largest absolute value of `want`, but at least to `least`.
inline void ExpectClose(const std::vector<double>& got, const std::vector<double>& want,
                        double tolerance, const std::string& what, double least = 1e-3) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = least;
  for (double v : want) largest = std::max(largest, std::fabs(v));
  for (size_t i = 0; i < got.size(); ++i) {
    // The condition is not written as fabs() > ..., so that a NaN fails.
    if (std::fabs(got[i] - want[i]) <= tolerance * largest) continue;
    FAIL() << what << " " << i << ": " << got[i] << ", apart it is " << want[i];
  }
}

inline void ExpectClose(const std::map<std::string, std::vector<double>>& got,
                        const std::map<std::string, std::vector<double>>& want, double tolerance,
                        double least = 1e-3) {
  EXPECT_EQ(got.size(), want.size());
  for (const auto& item : want) {
    const auto found = got.find(item.first);
    ExpectClose(found == got.end() ? std::vector<double>() : found->second, item.second, tolerance,
                item.first, least);
  }
}

// Expects the fused layers to compute on a GPU what the separate layers compute on the CPU
// (`apart`), and each of `chains` to run fused if the GPU has a kernel for it.
inline void ExpectSameOnGpu(const NetCase& c, const std::vector<std::string>& chains,
                            const Outcome& apart) {
  // A GPU has neither blocked layouts nor double precision.
  if (c.dtype != DType::kFloat32 || c.block > 0) return;
  const std::unique_ptr<Device> gpu = TestGpu();
  SCOPED_TRACE("on " + gpu->name());
  const Outcome there = RunOn(gpu.get(), c, true);
  for (const std::string& chain : chains) {
    if (KernelTypes::Get().For(chain, kCudaKind).empty()) continue;
    // The chain may also be a part of a longer one.
    EXPECT_TRUE(std::any_of(
        there.chains.begin(), there.chains.end(),
        [&](const std::string& found) { return found.find(chain) != std::string::npos; }))
        << chain;
  }
  // kLeast keeps a sum whose terms cancel from being compared relative to its small remainder.
  constexpr double kTolerance = 2e-5, kLeast = 1;
  ExpectClose(there.top, apart.top, kTolerance, "top", kLeast);
  ExpectClose(there.values, apart.values, kTolerance, kLeast);
  ExpectClose(there.gradients, apart.gradients, kTolerance, kLeast);
}

// Expects a GPU to compute, for every activation type and both with and without channels last, what
// the CPU computes in single precision with separate layers, up to the rounding of tops and
// gradients. Expects that no layer's operands are copied. If `apart_too`, also runs the layers
// separately on the GPU, where each layer rounds.
inline void ExpectSameIn16Bits(NetCase c, bool apart_too) {
  const std::unique_ptr<Device> gpu = TestGpu();
  for (DType type : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    c.rounded = type;
    c.stored = DType::kFloat32;
    c.channels_last = false;
    const Outcome apart = Run(c, false);
    c.stored = type;
    for (bool last : {false, true}) {
      if (last && c.shape.rank() < 3) continue;
      c.channels_last = last;
      for (bool fusion : {true, false}) {
        if (!fusion && !apart_too) continue;
        SCOPED_TRACE(c.Text() + Name(type) + (fusion ? " together" : " apart") +
                     (c.phase == TRAIN ? " TRAIN" : " TEST"));
        const Outcome there = RunOn(gpu.get(), c, fusion);
        if (fusion) {
          EXPECT_EQ(there.copied, std::vector<std::string>());
          EXPECT_EQ(there.unrecorded, std::vector<std::string>());
        }
        // The allowed error, in halves of a unit in the last place of the largest number.
        const double halves = fusion ? 4 : 12;
        const double tolerance = type == DType::kFloat16    ? halves * 0x1p-11
                                 : type == DType::kBFloat16 ? halves * 0x1p-8
                                                            : 2e-5;
        ExpectClose(there.top, apart.top, tolerance, "top", 1);
        ExpectClose(there.values, apart.values, tolerance, 1);
        ExpectClose(there.gradients, apart.gradients, tolerance, 1);
      }
    }
  }
}

// Expects the same results with and without fusion, in cases on a GPU also there. Returns the
// chains that are fused on the CPU.
inline std::vector<std::string> ExpectSameNumbers(const NetCase& c) {
  SCOPED_TRACE(c.Text() + Name(c.dtype) + (c.phase == TRAIN ? " TRAIN" : " TEST") +
               (c.backward ? " backward" : ""));
  const Outcome together = Run(c, true), apart = Run(c, false);
  EXPECT_TRUE(apart.chains.empty());
  EXPECT_EQ(together.top, apart.top);
  EXPECT_EQ(together.values, apart.values);  // includes running statistics
  const double tolerance = c.dtype == DType::kFloat64 ? 1e-13 : 3e-6;
  ExpectClose(together.gradients, apart.gradients, tolerance);
  if (OnGpu()) {
    ExpectSameOnGpu(c, together.chains, apart);
  } else {
    EXPECT_TRUE(HasTwinOnGpu()) << "the case needs TEST_ON_DEVICES";
  }
  return together.chains;
}

// Expects the same results with and without fusion, and exactly the fused chains `chains`.
inline void ExpectSame(const NetCase& c, const std::vector<std::string>& chains) {
  EXPECT_EQ(ExpectSameNumbers(c), chains) << c.Text();
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_COMMON_FUSION_CASE_H_
