// Setup and execution of a LayerCase. The expectations are in layer_case_expect.cc.
#include "tests/testing/layer_case.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/random.h"
#include "core/net/spec/prototxt.h"
#include "tests/testing/layer_case_run.h"

namespace doppio {

Graph GraphFromText(const std::string& text, Phase phase, std::optional<DType> stored) {
  NetParameter net;
  const FieldPlaces places = ParseText(text, "net.prototxt", &net);
  NetState state;
  state.set_phase(phase);
  NetOptions options;
  options.phase = phase;
  options.seed = 3;
  options.stored = stored;
  return MakeGraph(MakeNetSpec(net, places, state, options));
}

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

LayerCase& LayerCase::Read(int tops) {
  read_ = tops;
  return *this;
}

LayerCase& LayerCase::Passes(int forwards) {
  passes_ = forwards;
  return *this;
}

LayerCase& LayerCase::AsLoss() {
  as_loss_ = true;
  return *this;
}

LayerCase& LayerCase::NarrowTolerance(double halves) {
  narrow_tolerance_ = halves;
  return *this;
}

LayerCase& LayerCase::Use(const std::string& engine, const std::string& option) {
  engine_options_[engine] = option;
  return *this;
}

LayerCase& LayerCase::NoGradient() {
  no_gradient_ = true;
  return *this;
}

// All bottoms come from one layer that learns. If the layer has no gradient for some of them
// (labels), the net must not ask for it.
std::string LayerCase::PropagateDown(Mode mode) const {
  mode.bottoms_learn = false;
  std::string text;
  try {
    const Graph graph = GraphFromText(NetText(mode), phase_, mode.stored);
    const LayerShape& shape = graph.nodes[1].shape;
    std::vector<bool> none = shape.no_gradient_bottoms;
    if (shape.no_gradient_bottoms_may_learn || std::count(none.begin(), none.end(), true) == 0)
      return "";
    none.resize(inputs_.size());
    for (const bool cut : none) text += std::string(" propagate_down: ") + (cut ? "false" : "true");
  } catch (const Error&) {
    return "";  // the test expects this mistake
  }
  return text;
}

std::string LayerCase::NetText(const Mode& mode) const {
  std::string text = "layer { name: 'in' type: 'TestSource";
  if (mode.channels_last) text += "Last";
  if (mode.block > 0) text += "Blocked" + std::to_string(mode.block);
  text +=
      "' param { lr_mult: " + std::string(mode.backward && mode.bottoms_learn ? "1" : "0") + " }";
  std::string shapes, bottoms, probe;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::string name = "b" + std::to_string(i);
    text += " top: '" + name + "'";
    bottoms += " bottom: '" + name + "'";
    shapes += " shape {";
    for (int64_t d : inputs_[i].shape.dims()) shapes += " dim: " + std::to_string(d);
    shapes += " }";
  }
  if (inputs_.empty()) {
    text += " top: 'unused'";
    shapes = " shape { dim: 1 }";
  }
  text += " input_param {" + shapes + " } }\nlayer { name: 'layer' " + layer_ + bottoms;
  for (int i = 0; i < tops_; ++i) {
    const std::string name = in_place_ && i == 0 ? "b0" : "t" + std::to_string(i);
    text += " top: '" + name + "'";
    if (i < read_) probe += " bottom: '" + name + "'";
  }
  if (mode.backward && mode.bottoms_learn) text += PropagateDown(mode);
  text += " }\n";
  if (probed()) text += "layer { name: 'probe' type: 'TestProbe' top: 'probe'" + probe + " }\n";
  return text;
}

namespace {

// Fills the net's memory with NaN, so that a read of uninitialised memory shows. Skips layers whose
// tops persist between passes, and restores the loss weights, which are stored as gradients.
void Spoil(Net* net, Device* device) {
  const Plan& plan = net->plan();
  if (net->graph().nodes[1].shape.persistent_tops) return;
  std::vector<std::vector<double>> weights;
  for (const LossTerm& term : plan.losses) weights.push_back(ReadPlain(term.gradient, device));
  for (const Buffer* buffer : {&plan.buffers->arenas[0], &plan.buffers->scratch[0]}) {
    const std::vector<char> noise(static_cast<size_t>(buffer->bytes()), static_cast<char>(0xff));
    if (!noise.empty()) device->CopyFromHost(buffer->data(), noise.data(), buffer->bytes());
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!weights[i].empty()) WritePlain(weights[i], plan.losses[i].gradient, device);
  }
}

}  // namespace

std::unique_ptr<LayerCase::Run> LayerCase::Build(const Mode& mode) {
  auto run = std::make_unique<Run>();
  run->device = mode.gpu ? TestGpu() : MakeCpuDevice();
  PlanOptions options;
  options.device = run->device.get();
  options.dtype = mode.dtype;
  options.engine = mode.engine;
  options.engine_options = engine_options_;
  options.backward = mode.backward;
  options.keep_all = mode.keep_all;
  options.accumulate = mode.accumulate;
  run->store = std::make_unique<ParamStore>(run->device.get(), mode.dtype, 5);
  run->net = std::make_unique<Net>(GraphFromText(NetText(mode), phase_, mode.stored), options,
                                   run->store.get());
  run->source = dynamic_cast<TestSource*>(InnermostKernel(run->net->plan().kernel(0)));
  Spoil(run->net.get(), run->device.get());
  for (const Input& input : inputs_) run->source->values.push_back(input.values);
  if (probed()) {
    run->probe = dynamic_cast<TestProbe*>(InnermostKernel(run->net->plan().kernel(2)));
    run->probe->gradient = top_gradient_;
  }
  SetParams(run.get());
  return run;
}

void LayerCase::SetParams(Run* run) {
  for (size_t i = 0; i < run->node().params.size() && !keep_filled_; ++i) {
    const GraphParam& param = run->net->graph().params[static_cast<size_t>(run->node().params[i])];
    if (!param.trainable) continue;
    const Random random(13, Stream("param", "", static_cast<int>(i)));
    std::vector<double> values;
    for (int64_t e = 0; e < param.shape.count(); ++e) {
      values.push_back(random.Uniform(0, static_cast<uint64_t>(e)) - 0.5);
    }
    WritePlain(values, run->param(i), run->device.get());
  }
  for (const auto& given : params_)
    WritePlain(given.second, run->param(static_cast<size_t>(given.first)), run->device.get());
}

LayerCase::Result LayerCase::Compute(const Mode& mode) {
  const std::unique_ptr<Run> run = Build(mode);
  Result result;
  result.loss = run->Forward(passes_);
  for (int edge : run->node().tops) {
    result.shapes.push_back(run->net->graph().edges[static_cast<size_t>(edge)].shape);
    // Without a probe, the top is an output of the net and keeps its memory.
    if (!probed())
      result.tops.push_back(
          ReadPlain(run->net->plan().values[static_cast<size_t>(edge)], run->device.get()));
  }
  if (probed()) result.tops = run->probe->seen;
  for (size_t i = 0; i < run->node().params.size(); ++i)
    result.params.push_back(ReadPlain(run->param(i), run->device.get()));
  if (mode.backward) ComputeBackward(run.get(), mode, &result);
  result.padding_in_use = run->source->padding_in_use + (probed() ? run->probe->padding_in_use : 0);
  return result;
}

void LayerCase::ComputeBackward(Run* run, const Mode& mode, Result* result) {
  run->net->Backward(false);
  result->bottom_grads = run->source->gradients;
  // A view has no kernel and no parameters.
  const std::vector<Tensor> gradients =
      run->node().params.empty() ? std::vector<Tensor>() : run->tensors().param_grads;
  for (const Tensor& gradient : gradients)
    result->param_grads.push_back(ReadPlain(gradient, run->device.get()));
  if (!mode.accumulate || gradients.empty()) return;
  run->Forward(passes_);
  run->net->Backward(true);
  for (const Tensor& gradient : gradients)
    result->added_grads.push_back(ReadPlain(gradient, run->device.get()));
}

}  // namespace doppio
