#include "tests/testing/layer_case.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "core/math/dnnl.h"
#include "core/net/prototxt.h"
#include "tests/testing/test_layers.h"

namespace doppio {
namespace {

std::vector<double> ReadPlain(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.count()));
  if (!tensor) return {};
  if (tensor.dtype == DType::kFloat64) {
    std::copy_n(tensor.data<double>(), values.size(), values.begin());
    return values;
  }
  std::vector<float> plain(values.size() + 1);
  CopyTensor(tensor, Tensor({tensor.shape, tensor.dtype, Layout()}, plain.data()));
  std::copy_n(plain.begin(), values.size(), values.begin());
  return values;
}

void WritePlain(const std::vector<double>& values, const Tensor& tensor) {
  ASSERT_EQ(static_cast<int64_t>(values.size()), tensor.count());
  if (tensor.dtype == DType::kFloat64) {
    std::copy(values.begin(), values.end(), tensor.data<double>());
    return;
  }
  std::vector<float> plain(values.begin(), values.end());
  plain.push_back(0);
  CopyTensor(Tensor({tensor.shape, tensor.dtype, Layout()}, plain.data()), tensor);
}

void ExpectNear(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1;
  for (double w : want) largest = std::max(largest, std::fabs(w));
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * largest) << what << ", element " << i;
  }
}

}  // namespace

Graph GraphFromText(const std::string& text, Phase phase) {
  NetParameter net;
  const FieldPlaces places = ParseText(text, "net.prototxt", &net);
  NetState state;
  state.set_phase(phase);
  NetOptions options;
  options.phase = phase;
  options.seed = 3;
  return MakeGraph(MakeNetSpec(net, places, state, options));
}

struct LayerCase::Run {
  std::unique_ptr<Device> device = MakeCpuDevice();
  std::unique_ptr<ParamStore> store;
  std::unique_ptr<Net> net;
};

LayerCase::LayerCase(const std::string& layer_prototxt) : layer_(layer_prototxt) {}

LayerCase& LayerCase::Bottom(const Shape& shape, const std::vector<double>& values) {
  inputs_.push_back({shape, values});
  return *this;
}

LayerCase& LayerCase::RandomBottom(const Shape& shape, double low, double high) {
  const Random random(11, Stream("bottom", "", static_cast<int>(inputs_.size())));
  std::vector<double> values;
  for (int64_t i = 0; i < shape.count(); ++i) {
    values.push_back(low + (high - low) * random.Uniform(0, static_cast<uint64_t>(i)));
  }
  return Bottom(shape, values);
}

LayerCase& LayerCase::LabelBottom(const Shape& shape, int classes) {
  const Random random(12, Stream("label", "", static_cast<int>(inputs_.size())));
  std::vector<double> values;
  for (int64_t i = 0; i < shape.count(); ++i) {
    values.push_back(random.Below(static_cast<uint32_t>(classes), 0, static_cast<uint64_t>(i)));
  }
  return Bottom(shape, values);
}

LayerCase& LayerCase::Param(int i, const std::vector<double>& values) {
  params_.emplace_back(i, values);
  return *this;
}

LayerCase& LayerCase::KeepFilledParams() {
  keep_filled_ = true;
  return *this;
}

LayerCase& LayerCase::InPlace() {
  in_place_ = true;
  return *this;
}

LayerCase& LayerCase::InPhase(Phase phase) {
  phase_ = phase;
  return *this;
}

LayerCase& LayerCase::Tops(int count) {
  tops_ = count;
  return *this;
}

LayerCase& LayerCase::Passes(int forwards) {
  passes_ = forwards;
  return *this;
}

std::string LayerCase::NetText() const {
  std::string text = "force_backward: true layer { name: 'in' type: 'TestInput'";
  std::string shapes, bottoms, probe;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::string name = "b" + std::to_string(i);
    text += " top: '" + name + "'";
    bottoms += " bottom: '" + name + "'";
    shapes += " shape {";
    for (int64_t d : inputs_[i].shape.dims()) shapes += " dim: " + std::to_string(d);
    shapes += " }";
  }
  text += " input_param {" + shapes + " } }\nlayer { name: 'layer' " + layer_ + bottoms;
  for (int i = 0; i < tops_; ++i) {
    const std::string name = in_place_ && i == 0 ? "b0" : "t" + std::to_string(i);
    text += " top: '" + name + "'";
    probe += " bottom: '" + name + "'";
  }
  return text + " }\nlayer { name: 'probe' type: 'TestProbe' top: 'probe'" + probe + " }\n";
}

std::unique_ptr<LayerCase::Run> LayerCase::Build(DType dtype, const std::string& engine, bool backward,
                                                 bool keep_all) {
  auto run = std::make_unique<Run>();
  PlanOptions options;
  options.device = run->device.get();
  options.dtype = dtype;
  options.engine = engine;
  options.backward = backward;
  options.keep_all = keep_all;
  run->store = std::make_unique<ParamStore>(run->device.get(), dtype, 5);
  run->net = std::make_unique<Net>(GraphFromText(NetText(), phase_), options, run->store.get());
  Net& net = *run->net;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    WritePlain(inputs_[i].values, net.plan().tensors[0].tops[i]);
  }
  for (size_t i = 0; i < net.graph().params.size() && !keep_filled_; ++i) {
    const doppio::Param& param = run->store->param(net.param_index(static_cast<int>(i)));
    if (!param.trainable) continue;
    const Random random(13, Stream("param", "", static_cast<int>(i)));
    std::vector<double> values;
    for (int64_t e = 0; e < param.shape.count(); ++e) {
      values.push_back(random.Uniform(0, static_cast<uint64_t>(e)) - 0.5);
    }
    WritePlain(values, param.value);
  }
  for (const auto& given : params_) {
    WritePlain(given.second, run->store->param(net.param_index(given.first)).value);
  }
  return run;
}

LayerCase::Result LayerCase::Compute(DType dtype, const std::string& engine, bool backward,
                                     bool keep_all) {
  std::unique_ptr<Run> run = Build(dtype, engine, backward, keep_all);
  Net& net = *run->net;
  Result result;
  for (int i = 0; i < passes_; ++i) result.loss = net.Forward();
  for (const Tensor& top : net.plan().tensors[1].tops) {
    result.shapes.push_back(top.shape);
    if (keep_all || !backward) result.tops.push_back(ReadPlain(top));
  }
  if (result.tops.empty() && keep_all) {
    // A view has no kernel of its own: look at the edges.
    for (int edge : net.graph().nodes[1].tops) {
      const Tensor& value = net.plan().values[static_cast<size_t>(edge)];
      result.shapes.push_back(value.shape);
      result.tops.push_back(ReadPlain(value));
    }
  }
  if (backward) {
    if (!top_gradient_.empty()) {
      for (const PlanStep& step : net.plan().backward) {
        net.RunStep(step);
        if (step.node == 2 && step.kind == StepKind::kLayer) {
          WritePlain(top_gradient_, net.plan().tensors[1].top_grads[0]);
        }
      }
    } else {
      net.Backward(false);
    }
    for (const Tensor& grad : net.plan().tensors[1].bottom_grads) {
      if (keep_all) result.bottom_grads.push_back(ReadPlain(grad));
    }
    for (const Tensor& grad : net.plan().tensors[1].param_grads) {
      result.param_grads.push_back(grad ? ReadPlain(grad) : std::vector<double>());
    }
  }
  for (const Tensor& param : net.plan().tensors[1].params) result.params.push_back(ReadPlain(param));
  return result;
}

LayerCase& LayerCase::ExpectTop(const Shape& shape, const std::vector<double>& values,
                                double tolerance, int top) {
  const Result result = Compute(DType::kFloat64, "reference", false, true);
  EXPECT_EQ(result.shapes[static_cast<size_t>(top)].ToString(), shape.ToString()) << layer_;
  ExpectNear(result.tops[static_cast<size_t>(top)], values, tolerance, layer_);
  return *this;
}

LayerCase& LayerCase::ExpectTopShape(const Shape& shape, int top) {
  const Result result = Compute(DType::kFloat64, "reference", false, true);
  EXPECT_EQ(result.shapes[static_cast<size_t>(top)].ToString(), shape.ToString()) << layer_;
  return *this;
}

LayerCase& LayerCase::ExpectBottomGradient(const std::vector<double>& top_gradient,
                                           const std::vector<double>& bottom_gradient, int bottom,
                                           double tolerance) {
  top_gradient_ = top_gradient;
  const Result result = Compute(DType::kFloat64, "reference", true, true);
  top_gradient_.clear();
  ExpectNear(result.bottom_grads[static_cast<size_t>(bottom)], bottom_gradient, tolerance, layer_);
  return *this;
}

LayerCase& LayerCase::ExpectParam(int i, const std::vector<double>& values, double tolerance) {
  const Result result = Compute(DType::kFloat64, "reference", false, true);
  ExpectNear(result.params[static_cast<size_t>(i)], values, tolerance, layer_);
  return *this;
}

LayerCase& LayerCase::ExpectGradient(double step, double tolerance, double kink) {
  const Result analytic = Compute(DType::kFloat64, "reference", true, true);
  auto check = [&](std::vector<double>* values, const std::vector<double>& gradient, bool kinky,
                   const std::string& what) {
    for (size_t i = 0; i < gradient.size(); ++i) {
      const double middle = (*values)[i];
      if (kinky && std::fabs(middle - kink) < 2 * step) continue;
      (*values)[i] = middle + step;
      const double above = Compute(DType::kFloat64, "reference", false, false).loss;
      (*values)[i] = middle - step;
      const double below = Compute(DType::kFloat64, "reference", false, false).loss;
      (*values)[i] = middle;
      const double numeric = (above - below) / (2 * step);
      ASSERT_NEAR(gradient[i], numeric, tolerance * std::max(1.0, std::fabs(numeric)))
          << layer_ << ": gradient of " << what << ", element " << i;
    }
  };
  for (size_t b = 0; b < inputs_.size() && b < analytic.bottom_grads.size(); ++b) {
    check(&inputs_[b].values, analytic.bottom_grads[b], true, "bottom " + std::to_string(b));
  }
  const auto given = params_;
  for (size_t p = 0; p < analytic.param_grads.size(); ++p) {
    if (analytic.param_grads[p].empty()) continue;
    params_ = given;
    params_.emplace_back(static_cast<int>(p), analytic.params[p]);
    check(&params_.back().second, analytic.param_grads[p], false, "parameter " + std::to_string(p));
  }
  params_ = given;
  return *this;
}

LayerCase& LayerCase::ExpectBackendsAgree(double tolerance) {
  const Result want = Compute(DType::kFloat64, "reference", true, true);
  auto compare = [&](const std::string& engine, bool keep_all) {
    const std::string what =
        layer_ + " [" + (engine.empty() ? "best" : engine) + (keep_all ? ", kept]" : ", planned]");
    const Result got = Compute(DType::kFloat32, engine, true, keep_all);
    ExpectNear({got.loss}, {want.loss}, tolerance * 10, what + " loss");
    for (size_t i = 0; i < got.tops.size(); ++i) {
      ExpectNear(got.tops[i], want.tops[i], tolerance, what + " top");
    }
    for (size_t i = 0; i < got.bottom_grads.size(); ++i) {
      ExpectNear(got.bottom_grads[i], want.bottom_grads[i], tolerance, what + " bottom gradient");
    }
    for (size_t i = 0; i < got.param_grads.size(); ++i) {
      ExpectNear(got.param_grads[i], want.param_grads[i], tolerance, what + " parameter gradient");
    }
    for (size_t i = 0; i < got.params.size(); ++i) {
      ExpectNear(got.params[i], want.params[i], tolerance, what + " parameter");
    }
  };
  compare("reference", true);
  compare("reference", false);
  compare("", true);
  compare("", false);
  return *this;
}

LayerCase& LayerCase::ExpectMistake(const std::vector<std::string>& parts) {
  try {
    Build(DType::kFloat32, "", true, false);
    ADD_FAILURE() << "accepted: " << layer_;
  } catch (const Error& e) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos)
          << "'" << part << "' is not in: " << e.what();
    }
    EXPECT_TRUE(e.at().known()) << e.what();
  }
  return *this;
}

std::vector<double> LayerCase::Top(int top) {
  return Compute(DType::kFloat64, "reference", false, true).tops[static_cast<size_t>(top)];
}

}  // namespace doppio
