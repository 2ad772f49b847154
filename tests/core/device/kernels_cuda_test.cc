// Compares the CUDA kernels with the CPU's, which other tests check against hand-computed numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "core/device/kind_cuda.h"
#include "core/net/contract/layer.h"
#include "core/net/spec/prototxt.h"
#include "layers/activation/activation_ops.h"
#include "solvers/update/apply.h"
#include "tests/core/device/first_gpu.h"

namespace doppio {
namespace {

std::vector<float> RandomFloats(int64_t n, uint64_t stream) {
  const Random random(5, stream);
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back(4 * random.Uniform(0, static_cast<uint64_t>(i)) - 2);
  return values;
}

template <class T>
void ExpectNear(const std::vector<T>& got, const std::vector<T>& want, double tolerance,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::fabs(static_cast<double>(want[i]))))
        << what << ", element " << i;
  }
}

// Numbers in device memory, starting `offset` elements after the start of a block.
template <class T>
class OnDevice {
 public:
  OnDevice(Device* device, const std::vector<T>& values, int64_t offset = 0)
      : device_(device),
        bytes_(static_cast<int64_t>(values.size() * sizeof(T))),
        buffer_(device, bytes_ + offset * static_cast<int64_t>(sizeof(T))),
        data_(static_cast<T*>(buffer_.data()) + offset) {
    device->CopyFromHost(data_, values.data(), bytes_);
  }
  T* data() const { return data_; }
  std::vector<T> Read() const {
    std::vector<T> values(static_cast<size_t>(bytes_) / sizeof(T));
    device_->CopyToHost(values.data(), data_, bytes_);
    return values;
  }

 private:
  Device* device_;
  int64_t bytes_;
  Buffer buffer_;
  T* data_;
};

struct Passed {
  std::vector<float> y, dx;
};

template <class T>
std::vector<T> Stored(const std::vector<float>& values) {
  std::vector<T> stored;
  for (float value : values) stored.push_back(static_cast<T>(value));
  return stored;
}
template <class T>
std::vector<float> Widened(const std::vector<T>& stored) {
  std::vector<float> values;
  for (T value : stored) values.push_back(static_cast<float>(value));
  return values;
}

// Runs a layer with activations stored as T, whose DType is `type`.
template <class T>
Passed RunLayer(Device* device, const std::string& layer, int64_t n, int64_t offset, DType type) {
  LayerSpec spec;
  spec.places = ParseText("name: 'a' " + layer, "layer.prototxt", &spec.param);
  const TensorSpec tensor{Shape{n}, type, Layout()};
  const LayerShape shape = LayerTypes::Get().Find(spec.type())->infer(spec, {tensor.shape});
  KernelArgs args;
  args.type = spec.type();
  args.form = &shape.form;
  args.device = device;
  args.bottoms = {tensor};
  args.tops = {type};
  args.backward = true;
  args.bottom_gradient = {true};
  // On the CPU, the last kernel is the reference.
  const std::unique_ptr<Kernel> kernel =
      KernelTypes::Get().For(spec.type(), device->kind()).back()->make(args);

  const std::vector<T> nothing(static_cast<size_t>(n), T(7.0f));
  const OnDevice<T> x(device, Stored<T>(RandomFloats(n, 1)), offset), y(device, nothing, offset);
  const OnDevice<T> dy(device, Stored<T>(RandomFloats(n, 2)), offset), dx(device, nothing, offset);
  KernelTensors t;
  t.bottoms = {Tensor(tensor, x.data())};
  t.tops = {Tensor(tensor, y.data())};
  t.top_grads = {Tensor(tensor, dy.data())};
  t.bottom_grads = {Tensor(tensor, dx.data())};
  kernel->Bind(t);
  kernel->Forward(Pass());
  if (shape.has_backward) kernel->Backward(Pass(), {});
  return {Widened(y.Read()), Widened(dx.Read())};
}

Passed RunLayer(Device* device, const std::string& layer, int64_t n, int64_t offset) {
  return RunLayer<float>(device, layer, n, offset, DType::kFloat32);
}

template <class... Ops>
std::vector<std::string> TypesOf(const std::tuple<Ops...>*) {
  return {Ops::kType...};
}

// Returns all activations: those with fields with these values, all others without fields.
std::vector<std::string> ActivationLayers() {
  std::vector<std::string> layers = {
      "type: 'ReLU'",
      "type: 'ReLU' relu_param { negative_slope: 0.1 }",
      "type: 'ReLU' relu_param { negative_slope: -0.5 }",
      "type: 'ELU' elu_param { alpha: 0.7 }",
      "type: 'ELU' elu_param { alpha: -0.7 }",
      "type: 'Swish' swish_param { beta: 1.5 }",
      "type: 'Power' power_param { power: 1.5 scale: 0.5 shift: 3 }",
      "type: 'Power' power_param { power: 2 scale: -0.5 }",
      "type: 'Power' power_param { power: 0 shift: 2 }",
      "type: 'Exp' exp_param { base: 2 scale: 0.5 shift: 1 }",
      "type: 'Log' log_param { base: 10 shift: 3 }",
      "type: 'Clip' clip_param { min: -0.5 max: 1 }",
      "type: 'Threshold' threshold_param { threshold: 0.25 }",
  };
  std::string listed;
  for (const std::string& layer : layers) listed += layer;
  for (const std::string& type : TypesOf(static_cast<AllActivations*>(nullptr))) {
    const std::string layer = "type: '" + type + "'";
    if (listed.find(layer) == std::string::npos) layers.push_back(layer);
  }
  return layers;
}

TEST(CudaActivation, IsRegisteredForEveryActivation) {
  for (const std::string& type : TypesOf(static_cast<AllActivations*>(nullptr))) {
    const auto kernels = KernelTypes::Get().For(type, kCudaKind);
    ASSERT_EQ(kernels.size(), 1u) << type;
    EXPECT_EQ(kernels[0]->engine, "cuda");
    KernelArgs args;
    EXPECT_EQ(kernels[0]->declines(args), "");
    args.dtype = DType::kFloat64;
    EXPECT_EQ(kernels[0]->declines(args), "it has no float64");
  }
}

TEST(CudaActivation, AgreesWithTheCpu) {
  std::string why;
  const std::unique_ptr<Device> gpu = FirstGpu(&why), cpu = MakeCpuDevice();
  if (gpu == nullptr) GTEST_SKIP() << why;
  for (const std::string& layer : ActivationLayers()) {
    for (int64_t n : {1, 3, 1030, 100003}) {
      for (int64_t offset : {0, 1}) {
        const Passed want = RunLayer(cpu.get(), layer, n, offset);
        const Passed got = RunLayer(gpu.get(), layer, n, offset);
        const std::string what = layer + ", " + std::to_string(n) + " elements";
        ExpectNear(got.y, want.y, 1e-5, what + ", top");
        ExpectNear(got.dx, want.dx, 1e-5, what + ", bottom gradient");
      }
    }
  }
}

// Covers whole packs, partial packs, and addresses that are not aligned to packs.
TEST(CudaActivation, NeedsNoAlignment) {
  std::string why;
  const std::unique_ptr<Device> gpu = FirstGpu(&why);
  if (gpu == nullptr) GTEST_SKIP() << why;
  for (int64_t n : {1, 3, 4, 7, 8, 9, 31, 32, 1030}) {
    std::vector<float> x = RandomFloats(n, 1);
    for (int64_t offset : {0, 1, 4, 8}) {
      for (DType type : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
        DispatchStored(type, [&](auto zero) {
          using T = decltype(zero);
          const Passed got = RunLayer<T>(gpu.get(), "type: 'AbsVal'", n, offset, type);
          ASSERT_EQ(got.y.size(), x.size());
          for (size_t i = 0; i < x.size(); ++i) {
            const float stored = static_cast<float>(static_cast<T>(x[i]));
            ASSERT_EQ(got.y[i], std::fabs(stored))
                << Name(type) << ", " << n << ", " << offset << ", " << i;
          }
        });
      }
    }
  }
}

// Parameters of uneven sizes: one spans two chunks, one starts at an unaligned position, and one
// has no gradient. The gradients are in another order.
std::vector<UpdateSlice> Slices() {
  return {{0, 1, 10240, 1, 1, true, {}},
          {64, 69, 64, 2, 0, true, {}},
          {128, 10135, 192, 1, 1, true, {}},
          {10241, 10300, 1, 0, 0.5f, true, {}},
          {10304, 14400, 10304, 1, 2, false, {}}};
}

template <class T>
struct Updated {
  std::vector<T> values, h0, h1, steps;
  double sum_squares = 0, same_again = 0;
};

template <class T>
Updated<T> RunUpdate(Device* device, size_t rule, bool l1) {
  const int64_t n = 14464;
  auto random = [n](uint64_t stream) {
    const std::vector<float> floats = RandomFloats(n, stream);
    return std::vector<T>(floats.begin(), floats.end());
  };
  const OnDevice<T> values(device, random(1)), grads(device, random(2));
  const OnDevice<T> h0(device, std::vector<T>(n)), h1(device, std::vector<T>(n));
  UpdateArenas arenas;
  arenas.dtype = sizeof(T) == 8 ? DType::kFloat64 : DType::kFloat32;
  arenas.size = n;
  arenas.values = values.data();
  arenas.grads = grads.data();
  arenas.history[0] = h0.data();
  VisitRule(rule, [&](auto r) {
    if (decltype(r)::kSlots > 1) arenas.history[1] = h1.data();
  });
  arenas.slices = Slices();
  arenas.ranges = {{0, n, 0}};
  const std::unique_ptr<UpdatePass> pass =
      (*UpdatePasses::Get().Find(device->kind()))(device, arenas, rule);
  UpdateInputs numbers;
  numbers.rate = 0.1;
  numbers.decay = 0.01;
  numbers.scale = 0.5;
  numbers.l1 = l1;
  numbers.rule.momentum = 0.9;
  numbers.rule.momentum2 = 0.99;
  numbers.rule.delta = 1e-3;
  numbers.rule.rms_decay = 0.95;
  Updated<T> result;
  result.sum_squares = pass->SumSquares();
  result.same_again = pass->SumSquares();
  for (int i = 0; i < 3; ++i) {
    pass->Run(numbers, 2, arenas.slices.size());
    pass->Run(numbers, 0, 1);
    pass->Run(numbers, 1, 2);
  }
  numbers.keep_steps = true;
  pass->Run(numbers, 0, arenas.slices.size());
  result.steps = grads.Read();
  result.values = values.Read();
  result.h0 = h0.Read();
  result.h1 = h1.Read();
  return result;
}

template <class T>
void ExpectUpdatesAgree(Device* cpu, Device* gpu, double tolerance) {
  for (size_t rule = 0; rule < std::tuple_size_v<Rules>; ++rule) {
    for (bool l1 : {false, true}) {
      std::string what;
      bool on_gpus = true;
      VisitRule(rule, [&](auto r) {
        what = decltype(r)::kName;
        on_gpus = !decltype(r)::kMatrices;
      });
      if (!on_gpus) continue;
      const Updated<T> want = RunUpdate<T>(cpu, rule, l1), got = RunUpdate<T>(gpu, rule, l1);
      ExpectNear(got.values, want.values, tolerance, what + ", values");
      ExpectNear(got.h0, want.h0, tolerance, what + ", first history");
      ExpectNear(got.h1, want.h1, tolerance, what + ", second history");
      ExpectNear(got.steps, want.steps, tolerance, what + ", steps");
      EXPECT_NEAR(got.sum_squares, want.sum_squares, 1e-12 * want.sum_squares);
      EXPECT_EQ(got.sum_squares, got.same_again) << "the order of the sum changed";
    }
  }
}

TEST(CudaUpdate, IsRegistered) { EXPECT_NE(UpdatePasses::Get().Find("CUDA"), nullptr); }

TEST(CudaUpdate, AgreesWithTheCpuForEveryRule) {
  std::string why;
  const std::unique_ptr<Device> gpu = FirstGpu(&why), cpu = MakeCpuDevice();
  if (gpu == nullptr) GTEST_SKIP() << why;
  ExpectUpdatesAgree<float>(cpu.get(), gpu.get(), 2e-5);
  ExpectUpdatesAgree<double>(cpu.get(), gpu.get(), 1e-12);
}

}  // namespace
}  // namespace doppio
