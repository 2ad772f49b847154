// Runs nets with a way to save memory, and records all that it must not change. Used by tests of
// recomputing activations and of offloading them to host memory.
#ifndef DOPPIO_TESTS_CORE_NET_MEMORY_SAVING_CASE_H_
#define DOPPIO_TESTS_CORE_NET_MEMORY_SAVING_CASE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/net/run/net.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/test_layers.h"

namespace doppio {

struct SavingWay {
  MemorySaving saving;
  // If true, each parameter is updated as soon as its gradient is complete. If false, iter_size is
  // 2.
  bool early = false;
  bool fusion = true;
  std::string engine;
};

struct SavingOutcome {
  std::vector<double> losses;
  // For each iteration, all parameters concatenated.
  std::vector<std::vector<double>> gradients, values;
  MemoryUse memory;
  MemorySaved saved;
  std::vector<std::string> notes;
};

// Applies a step of plain gradient descent to the stored elements, so that it works in any layout.
inline void Descend(Device* device, const Param& param) {
  const size_t count = static_cast<size_t>(param.value.stored());
  std::vector<float> value(count), grad(count);
  device->CopyToHost(value.data(), param.value.raw, param.value.bytes());
  device->CopyToHost(grad.data(), param.grad.raw, param.grad.bytes());
  for (size_t i = 0; i < count; ++i) value[i] -= 0.01F * grad[i];
  device->CopyFromHost(param.value.raw, value.data(), param.value.bytes());
}

// Records each gradient when it is complete, and applies it.
class Descent : public GradientSink {
 public:
  explicit Descent(ParamStore* store) : store_(*store) {}
  void Ready(int param) override {
    const Param& p = store_.params()[static_cast<size_t>(param)];
    const std::vector<double> grad = ReadPlain(p.grad, store_.device());
    gradients.insert(gradients.end(), grad.begin(), grad.end());
    Descend(store_.device(), p);
  }
  std::vector<double> gradients;

 private:
  ParamStore& store_;
};

inline void Spoil(const Buffer& buffer, Device* device) {
  if (buffer.bytes() == 0) return;
  const std::vector<char> noise(static_cast<size_t>(buffer.bytes()), static_cast<char>(0xff));
  device->CopyFromHost(buffer.data(), noise.data(), buffer.bytes());
}

// Writes new inputs for each pass. The second top holds labels.
inline void FillInputs(Net* net, Device* device, uint64_t pass) {
  const std::vector<Tensor>& inputs = net->plan().tensors[0].tops;
  const doppio::Random random(1, 2 + pass);
  for (size_t top = 0; top < inputs.size(); ++top) {
    std::vector<double> values(static_cast<size_t>(inputs[top].count()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = top == 1 ? random.Below(3, 1, i) : random.Normal(top, i);
    }
    WritePlain(values, inputs[top], device);
  }
}

// Runs three iterations on a net of this text.
inline SavingOutcome RunSaving(const std::string& text, const SavingWay& way, Device* device) {
  PlanOptions options;
  options.device = device;
  options.backward = true;
  options.engine = way.engine;
  options.fusion = way.fusion;
  options.saving = way.saving;
  options.accumulate = !way.early;
  options.gradients_consumed = way.early;
  ParamStore store(device, DType::kFloat32, 5);
  Net net(GraphFromText(text), options, &store);
  // Fills the memory with noise, so that a read of uninitialised memory shows.
  for (const LossTerm& term : net.plan().losses) EXPECT_FALSE(term.gradient) << "lies in the arena";
  Spoil(net.plan().buffers->arenas[0], device);
  Spoil(net.plan().buffers->scratch[0], device);

  SavingOutcome outcome;
  outcome.memory = net.plan().memory;
  outcome.saved = net.plan().saved;
  outcome.notes = net.plan().notes;
  Descent descent(&store);
  uint64_t passes = 0;
  for (int iteration = 0; iteration < 3; ++iteration) {
    descent.gradients.clear();
    for (int part = 0; part < (way.early ? 1 : 2); ++part) {
      FillInputs(&net, device, passes++);
      outcome.losses.push_back(net.Forward());
      net.Backward(part > 0, way.early ? &descent : nullptr);
    }
    if (!way.early) {
      for (int p : store.learnable()) {
        if (store.param(p).gradient) descent.Ready(p);
      }
    }
    outcome.gradients.push_back(descent.gradients);
    outcome.values.emplace_back();
    for (const Param& param : store.params()) {
      const std::vector<double> values = ReadPlain(param.value, device);
      outcome.values.back().insert(outcome.values.back().end(), values.begin(), values.end());
    }
  }
  return outcome;
}

inline void ExpectEqual(const SavingOutcome& plain, const SavingOutcome& saved) {
  EXPECT_EQ(plain.losses, saved.losses);
  for (double loss : saved.losses) EXPECT_TRUE(std::isfinite(loss));
  for (size_t i = 0; i < plain.gradients.size(); ++i) {
    EXPECT_EQ(plain.gradients[i], saved.gradients[i]) << "gradients of iteration " << i;
    EXPECT_EQ(plain.values[i], saved.values[i]) << "parameters after iteration " << i;
  }
}

inline MemorySaving Segments(int segments) {
  MemorySaving saving;
  saving.segments = segments;
  return saving;
}
inline MemorySaving Offloading(int segments = 1) {
  MemorySaving saving;
  saving.segments = segments;
  saving.activation_bytes = 0;
  saving.min_offloaded_bytes = 0;
  return saving;
}

// ---- Text of nets ------------------------------------------------------------------------------

inline constexpr char kSavingInput[] =
    "layer { name: 'in' type: 'TestInput' top: 'x' top: 'y'\n"
    "  input_param { shape { dim: 2 dim: 3 dim: 12 dim: 12 } shape { dim: 2 } } }\n";

inline std::string Layer(const std::string& name, const std::string& type,
                         const std::vector<std::string>& bottoms, const std::string& top,
                         const std::string& more = "") {
  std::string text = "layer { name: '" + name + "' type: '" + type + "'";
  for (const std::string& bottom : bottoms) text += " bottom: '" + bottom + "'";
  return text + " top: '" + top + "' " + more + " }\n";
}

inline std::string Conv(const std::string& name, const std::string& bottom, int outputs,
                        int kernel = 3, const std::string& more = "", const std::string& top = "") {
  return Layer(
      name, "Convolution", {bottom}, top.empty() ? name : top,
      more + " convolution_param { num_output: " + std::to_string(outputs) +
          " kernel_size: " + std::to_string(kernel) + " pad: " + std::to_string(kernel / 2) +
          " weight_filler { type: 'xavier' } bias_filler { type: 'uniform' min: -0.1 max: 0.1 } }");
}

inline std::string InnerProduct(const std::string& name, const std::string& bottom, int outputs,
                                const std::string& more = "") {
  return Layer(name, "InnerProduct", {bottom}, name,
               more + " inner_product_param { num_output: " + std::to_string(outputs) +
                   " weight_filler { type: 'xavier' } }");
}

inline std::string Classifier(const std::string& bottom, const std::string& name = "",
                              const std::string& more = "") {
  return InnerProduct("ip" + name, bottom, 3) +
         Layer("loss" + name, "SoftmaxWithLoss", {"ip" + name, "y"}, "loss" + name, more);
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_CORE_NET_MEMORY_SAVING_CASE_H_
