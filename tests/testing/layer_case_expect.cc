// Expectations of a LayerCase.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/testing/layer_case_run.h"

namespace doppio {
namespace {

// Compares element by element. NaN matches NaN. `tolerance` is relative to the largest absolute
// value if that is above 1.
void ExpectNear(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1;
  for (double w : want) {
    if (std::isfinite(w)) largest = std::max(largest, std::fabs(w));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) continue;
    ASSERT_NEAR(got[i], want[i], tolerance * largest) << what << ", element " << i;
  }
}

void ExpectAllNear(const std::vector<std::vector<double>>& got,
                   const std::vector<std::vector<double>>& want, double tolerance,
                   const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ExpectNear(got[i], want[i], tolerance, what + " " + std::to_string(i));
  }
}

}  // namespace

std::string LayerCase::Mode::ToString() const {
  return std::string(gpu ? " [GPU, " : " [") + (engine.empty() ? "fastest" : engine) + ", " +
         Name(dtype) + (keep_all ? ", kept" : ", planned") + (backward ? "" : ", forward only") +
         (bottoms_learn ? "" : ", bottoms fixed") + (channels_last ? ", channels last" : "") +
         (Is16Bit(stored) ? std::string(", in ") + Name(stored) : "") +
         (block > 0 ? ", bottoms in blocks of " + std::to_string(block) : "") + "]";
}

LayerCase& LayerCase::ExpectTop(const Shape& shape, const std::vector<double>& values,
                                double tolerance, int top) {
  ExpectTopShape(shape, top);
  const size_t index = static_cast<size_t>(top);
  Mode mode;
  ExpectNear(Compute(mode).tops[index], values, tolerance, layer_ + mode.ToString());
  mode.dtype = DType::kFloat32;
  mode.engine = "";
  mode.gpu = OnGpu();
  ExpectNear(Compute(mode).tops[index], values, std::max(tolerance, 1e-4),
             layer_ + mode.ToString());
  return *this;
}

LayerCase& LayerCase::ExpectTopShape(const Shape& shape, int top) {
  const Result result = Compute(Mode());
  EXPECT_EQ(result.shapes[static_cast<size_t>(top)].ToString(), shape.ToString()) << layer_;
  return *this;
}

LayerCase& LayerCase::ExpectBottomGradient(const std::vector<double>& top_gradient,
                                           const std::vector<double>& bottom_gradient, int bottom,
                                           double tolerance) {
  top_gradient_ = top_gradient;
  ExpectNear(BottomGradient(bottom), bottom_gradient, tolerance, layer_);
  top_gradient_.clear();
  return *this;
}

LayerCase& LayerCase::ExpectParam(int i, const std::vector<double>& values, double tolerance) {
  ExpectNear(Compute(Mode()).params[static_cast<size_t>(i)], values, tolerance, layer_);
  return *this;
}

LayerCase& LayerCase::ExpectGradient(double step, double tolerance, double kink) {
  if (OnGpu()) return *this;  // the twin on the CPU checks the reference
  Mode mode;
  mode.backward = true;
  const Result analytic = Compute(mode);
  mode.backward = false;
  const std::unique_ptr<Run> run = Build(mode);
  int checked = 0;
  // `write` makes the changed values visible to the net.
  auto check = [&](std::vector<double> values, const std::vector<double>& gradient,
                   const auto& write, bool kinky, const std::string& what) {
    ASSERT_EQ(values.size(), gradient.size()) << layer_ << ": gradient of " << what;
    for (size_t i = 0; i < gradient.size(); ++i) {
      const double middle = values[i];
      if (kinky && std::fabs(middle - kink) < 2 * step) continue;
      values[i] = middle + step;
      write(values);
      const double above = run->Forward(passes_);
      values[i] = middle - step;
      write(values);
      const double below = run->Forward(passes_);
      values[i] = middle;
      write(values);
      const double numeric = (above - below) / (2 * step);
      ASSERT_NEAR(gradient[i], numeric, tolerance * std::max(1.0, std::fabs(numeric)))
          << layer_ << ": gradient of " << what << ", element " << i;
      ++checked;
    }
  };
  for (size_t b = 0; b < analytic.bottom_grads.size() && b < inputs_.size(); ++b) {
    if (analytic.bottom_grads[b].empty()) continue;
    check(
        inputs_[b].values, analytic.bottom_grads[b],
        [&](const std::vector<double>& values) { run->source->values[b] = values; }, true,
        "bottom " + std::to_string(b));
  }
  for (size_t p = 0; p < analytic.param_grads.size(); ++p) {
    if (analytic.param_grads[p].empty()) continue;
    check(
        analytic.params[p], analytic.param_grads[p],
        [&](const std::vector<double>& values) {
          WritePlain(values, run->param(p), run->device.get());
        },
        false, "parameter " + std::to_string(p));
  }
  EXPECT_GT(checked, 0) << layer_ << ": no gradient came back";
  return *this;
}

void LayerCase::Compare(const Mode& mode, const Result& want, double tolerance) {
  const Result got = Compute(mode);
  const std::string what = layer_ + mode.ToString();
  EXPECT_EQ(got.padding_in_use, 0) << what;
  ExpectNear({got.loss}, {want.loss}, tolerance * 10, what + " loss");
  ExpectAllNear(got.tops, want.tops, tolerance, what + " top");
  ExpectAllNear(got.params, want.params, tolerance, what + " parameter");
  if (!mode.backward) return;
  if (mode.bottoms_learn) {
    ExpectAllNear(got.bottom_grads, want.bottom_grads, tolerance, what + " gradient of bottom");
  }
  ExpectAllNear(got.param_grads, want.param_grads, tolerance, what + " gradient of parameter");
  if (mode.accumulate) {
    ExpectAllNear(got.added_grads, want.added_grads, 2 * tolerance,
                  what + " added gradient of parameter");
  }
}

bool LayerCase::HasImages() const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [](const Input& input) { return input.shape.rank() >= 3; });
}

LayerCase& LayerCase::ExpectBackendsAgree(double tolerance) {
  Mode mode;
  mode.keep_all = true;
  mode.backward = !no_gradient_;
  const Result want = Compute(mode);
  if (OnGpu()) {
    ExpectGpuAgrees(want, tolerance);
  } else {
    // All options are of engines on the CPU.
    EXPECT_TRUE(HasTwinOnGpu() || !engine_options_.empty())
        << "a case with ExpectBackendsAgree needs TEST_ON_DEVICES";
    ExpectCpuAgrees(want, tolerance);
  }
  ExpectNarrowAgrees();
  return *this;
}

void LayerCase::ExpectCpuAgrees(const Result& want, double tolerance) {
  for (size_t p = 0; p < want.param_grads.size(); ++p) {
    std::vector<double> twice = want.param_grads[p];
    for (double& gradient : twice) gradient *= 2;
    ExpectNear(want.added_grads[p], twice, 1e-12, layer_ + ": second pass adds to parameter");
  }
  Mode mode;
  mode.backward = !no_gradient_;
  Compare(mode, want, 1e-12);

  mode.dtype = DType::kFloat32;
  Compare(mode, want, tolerance);
  mode.engine = "";
  const bool image = HasImages();
  for (int block : {0, 8, 16}) {
    if (block > 0 && !image) continue;
    mode.block = block;
    for (bool keep_all : {true, false}) {
      mode.keep_all = keep_all;
      Compare(mode, want, tolerance);
    }
  }
  mode.block = 0;
  if (!want.param_grads.empty()) {
    mode.bottoms_learn = mode.accumulate = false;
    Compare(mode, want, tolerance);
    mode.bottoms_learn = mode.accumulate = true;
  }
  mode.backward = false;
  Compare(mode, want, tolerance);
}

// Compares runs with 16-bit activations with single precision on the CPU, on the same bottoms.
// Results may differ by the rounding of tops, gradients and intermediate values.
void LayerCase::ExpectNarrowAgrees() {
  const std::vector<Input> given = inputs_;
  for (DType type : {DType::kBFloat16, DType::kFloat16}) {
    for (Input& input : inputs_) {
      for (double& value : input.values) {
        DispatchStored(type, [&](auto zero) {
          value = static_cast<float>(static_cast<decltype(zero)>(static_cast<float>(value)));
        });
      }
    }
    Mode mode;
    mode.dtype = DType::kFloat32;
    mode.backward = !no_gradient_;
    const Result want = Compute(mode);
    mode.engine = "";
    mode.stored = type;
    const double step =
        type == DType::kFloat16 ? 0x1p-11 : 0x1p-8;  // half a unit in the last place
    mode.gpu = OnGpu();
    for (bool keep_all : {true, false}) {
      mode.keep_all = keep_all;
      Compare(mode, want, narrow_tolerance_ * step);
    }
    if (mode.gpu && HasImages()) {
      mode.channels_last = true;
      Compare(mode, want, narrow_tolerance_ * step);
    }
    inputs_ = given;
  }
}

void LayerCase::ExpectGpuAgrees(const Result& want, double tolerance) {
  Mode mode;
  mode.gpu = true;
  mode.dtype = DType::kFloat32;
  mode.engine = "";
  for (bool backward : {!no_gradient_, false}) {
    mode.backward = backward;
    for (bool keep_all : {true, false}) {
      mode.keep_all = keep_all;
      Compare(mode, want, tolerance);
    }
    if (!HasImages()) continue;
    mode.channels_last = true;
    Compare(mode, want, tolerance);
    mode.channels_last = false;
  }
  if (want.param_grads.empty()) return;
  mode.backward = true;
  mode.bottoms_learn = mode.accumulate = false;
  Compare(mode, want, tolerance);
}

LayerCase& LayerCase::ExpectMistake(const std::vector<std::string>& parts) {
  Mode mode;
  mode.dtype = DType::kFloat32;
  mode.engine = "";
  mode.backward = !no_gradient_;
  try {
    Build(mode)->net->Forward();
    ADD_FAILURE() << "accepted: " << layer_;
  } catch (const Error& e) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos)
          << "'" << part << "' is not in: " << e.what();
    }
    EXPECT_TRUE(e.at().known()) << e.what();
    EXPECT_EQ(e.code(), ExitCode::kConfig) << e.what();
  }
  return *this;
}

std::vector<double> LayerCase::Top(int top) {
  return Compute(Mode()).tops[static_cast<size_t>(top)];
}

std::vector<double> LayerCase::FastTop(int top) {
  Mode mode;
  mode.dtype = DType::kFloat32;
  mode.engine = "";
  return Compute(mode).tops[static_cast<size_t>(top)];
}

std::vector<double> LayerCase::BottomGradient(int bottom) {
  Mode mode;
  mode.backward = true;
  const std::vector<std::vector<double>> gradients = Compute(mode).bottom_grads;
  return static_cast<size_t>(bottom) < gradients.size() ? gradients[static_cast<size_t>(bottom)]
                                                        : std::vector<double>();
}

std::unique_ptr<LayerCase::Run> LayerCase::BuildFastest(bool gpu, DType stored) {
  Mode mode;
  mode.gpu = gpu;
  mode.dtype = DType::kFloat32;
  mode.engine = "";
  mode.stored = stored;
  mode.channels_last = gpu && Is16Bit(stored) && HasImages();
  mode.backward = !no_gradient_;
  return Build(mode);
}

std::string LayerCase::Engine() {
  const KernelType* type = BuildFastest(false, DType::kFloat32)->net->plan().kernel_types[1];
  return type == nullptr ? "view" : type->engine;
}

std::string LayerCase::GpuEngine(DType stored) {
  const KernelType* type = BuildFastest(true, stored)->net->plan().kernel_types[1];
  return type == nullptr ? "view" : type->engine;
}

bool LayerCase::NarrowOnCpu() { return IsNarrow(false); }

bool LayerCase::NarrowOnGpu() { return IsNarrow(true); }

bool LayerCase::IsNarrow(bool gpu) {
  const std::unique_ptr<Run> run = BuildFastest(gpu, DType::kBFloat16);
  const Plan& plan = run->net->plan();
  return plan.kernels[1] != nullptr && plan.kernels[1]->inner() == nullptr &&
         plan.kernel_types[1]->narrow;
}

LayerCase& LayerCase::ExpectGpuKernel() {
  if (OnGpu()) {
    EXPECT_NE(GpuEngine(), "host") << layer_;
  }
  return *this;
}

LayerCase& LayerCase::ExpectNarrowOnGpu() {
  if (OnGpu()) {
    EXPECT_TRUE(NarrowOnGpu()) << layer_;
  }
  return *this;
}

LayerCase& LayerCase::ExpectNoGpuConversions() {
  if (OnGpu()) {
    EXPECT_EQ(BuildFastest(true, DType::kBFloat16)->net->plan().reorders, 0) << layer_;
  }
  return *this;
}

}  // namespace doppio
