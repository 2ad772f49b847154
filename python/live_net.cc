#include "python/live_net.h"

#include <algorithm>
#include <utility>

#include "core/base/text/nearest.h"
#include "core/net/contract/layer.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/contract/sample_source.h"
#include "core/net/graph/find_blob.h"
#include "core/net/store/weights.h"
#include "python/python_layer.h"

namespace doppio {
namespace py = pybind11;
namespace {

bool IsInput(const LayerSpec& layer) { return TakesInput(layer.type()); }

bool ReadsImages(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return node.shape.preprocessing.has_value(); });
}

}  // namespace

LiveNet::LiveNet(NetRecipe recipe)
    : recipe_(std::make_unique<NetRecipe>(std::move(recipe))), views_(std::make_shared<Views>()) {
  Use(recipe_->Make({}));
}

void LiveNet::Use(const std::shared_ptr<NetRecipe::Made>& made) {
  owner_ = made;
  params_owner_ = made->params;
  net_ = made->net.get();
  device_ = made->device.get();
  SetOwnerOfLayerParams();
}

void LiveNet::Attach(const std::shared_ptr<void>& owner, Net* net, Device* device) {
  GiveSamples(*net);
  owner_ = params_owner_ = owner;
  net_ = net;
  device_ = device;
  SetOwnerOfLayerParams();
}

// Layers written in Python show their parameters themselves, so they need the owner of the memory.
void LiveNet::SetOwnerOfLayerParams() const {
  for (const auto& kernel : net_->plan().kernels) SetOwnerOfParams(kernel.get(), params_owner_);
}

template <class F>
void LiveNet::InTurn(const F& f) {
  const std::lock_guard<std::recursive_mutex> turn(views_->turn());
  views_->Push();
  f();
  views_->Pull();
}

bool LiveNet::IsWhole(int first, int last) const {
  return first == 0 && last + 1 == static_cast<int>(graph().nodes.size());
}

void LiveNet::Forward(int first, int last) {
  const std::lock_guard<std::recursive_mutex> turn(views_->turn());
  Reshape();
  InTurn([&] {
    if (IsWhole(first, last)) {
      net_->Forward();
    } else {
      RunPart(net_->plan().forward, first, last, false);
    }
    device_->Synchronize();
  });
}

void LiveNet::Backward(int first, int last) {
  if (net_->plan().backward.empty()) {
    throw UsageError("net '", graph().spec.name,
                     "' computes no gradients, because it has no loss that depends on a learned ",
                     "parameter; to compute gradients from its outputs, set force_backward: true ",
                     "in its file");
  }
  InTurn([&] {
    if (IsWhole(first, last)) {
      net_->Backward(true);
    } else {
      RunPart(net_->plan().backward, first, last, true);
    }
    device_->Synchronize();
  });
}

void LiveNet::RunPart(const std::vector<PlanStep>& steps, int first, int last, bool accumulate) {
  for (const PlanStep& step : steps) {
    const bool inside = step.node >= first && step.node <= last;
    if (inside || (!step.backward && ReadsWhatWasReordered(step, first, last)))
      net_->RunStep(step, accumulate);
  }
}

// Returns true if a layer in [first, last] reads the result of `reorder`. A reorder belongs to the
// first layer that needs it, which may be outside this range.
bool LiveNet::ReadsWhatWasReordered(const PlanStep& reorder, int first, int last) const {
  if (reorder.kind != StepKind::kReorder || reorder.node >= first) return false;
  const Plan& plan = net_->plan();
  for (int n = first; n <= last; ++n) {
    const Node& node = graph().nodes[n];
    const std::vector<Tensor>& read = plan.tensors[n].bottoms;
    for (size_t i = 0; i < read.size(); ++i) {
      const Tensor& made = plan.values[node.bottoms[i]];
      if (read[i].raw == reorder.to.raw && made.raw == reorder.from.raw) return true;
    }
  }
  return false;
}

void LiveNet::ClearParamDiffs() {
  InTurn([&] {
    for (size_t i = 0; i < graph().params.size(); ++i) {
      const Tensor& gradient = net_->params().param(net_->plan().param_index[i]).grad;
      if (gradient) device_->Zero(gradient.raw, gradient.bytes());
    }
  });
}

void LiveNet::AskForShape(const std::string& blob, const Shape& shape) {
  if (shape == ShapeOf(blob)) return;
  if (recipe_ == nullptr)
    throw UsageError("blob '", blob, "' belongs to a solver's net, whose shapes are fixed");
  const std::vector<std::string> names = inputs();
  if (std::find(names.begin(), names.end(), blob) == names.end()) {
    const Edge& edge = graph().edges[graph().FindEdge(blob)];
    throw UsageError("blob '", blob, "' is a top of layer '", graph().layer(edge.producer).name(),
                     "'; only tops of Input layers can be reshaped");
  }
  for (int64_t dim : shape.dims()) {
    if (dim < 1)
      throw UsageError("shape ", shape.ToString(), " of blob '", blob,
                       "': extents must be at least 1");
  }
  staged_[blob] = {shape, std::make_shared<std::vector<float>>(shape.count())};
}

void LiveNet::Reshape() {
  const std::lock_guard<std::recursive_mutex> turn(views_->turn());
  std::map<std::string, Staged> staged;
  {
    const py::gil_scoped_acquire gil;
    staged = staged_;
  }
  if (staged.empty()) return;
  std::map<std::string, Shape> shapes = shapes_;
  for (const auto& input : staged) shapes[input.first] = input.second.shape;
  InTurn([&] {
    GoOnWith(recipe_->Make(shapes, net_), staged);
    shapes_ = std::move(shapes);
  });
}

// Switches to the net in `made`, with the inputs' values and the position in the data of the old
// net.
void LiveNet::GoOnWith(const std::shared_ptr<NetRecipe::Made>& made,
                       const std::map<std::string, Staged>& staged) {
  Net& now = *made->net;
  for (const std::string& name : inputs()) {
    const auto given = staged.find(name);
    const Tensor to = now.Blob(name);
    if (given != staged.end()) {
      WriteTensor(*given->second.values, to, device_);
    } else {
      WriteTensor(ReadTensor(net_->Blob(name), device_).data, to, device_);
    }
  }
  for (size_t n = 0; n < graph().nodes.size(); ++n) {
    const int node = static_cast<int>(n);
    if (const SampleSource* before = SourceOf(net_->plan().kernel(node)))
      Capability<SampleSource>(now.plan().kernel(node))->Seek(before->position());
  }
  GiveSamples(now);
  now.pass() = net_->pass();
  now.set_preprocessing(graph().preprocessing);
  const std::shared_ptr<void> owner_before = owner_;  // released after the GIL
  const py::gil_scoped_acquire gil;
  Use(made);
  for (const auto& input : staged) {
    const auto now_staged = staged_.find(input.first);
    // Another thread may have requested another shape in the meantime.
    if (now_staged != staged_.end() && now_staged->second.values == input.second.values)
      staged_.erase(now_staged);
  }
}

void LiveNet::CopyFrom(const std::string& path) {
  InTurn([&] {
    const WeightsFile file = ReadWeights(path);
    LogReport(CopyWeights(file, graph(), net_->plan().param_index, &net_->params()), path);
    if (file.preprocessing && !ReadsImages(graph())) net_->set_preprocessing(file.preprocessing);
  });
}

void LiveNet::Save(const std::string& path, bool hdf5, bool diffs) {
  InTurn(
      [&] { WriteWeights(path, hdf5, graph(), net_->plan().param_index, net_->params(), diffs); });
}

void LiveNet::CheckThatItCanShare(const LiveNet& other) const {
  if (recipe_ == nullptr) {
    throw UsageError("net '", graph().spec.name,
                     "' belongs to a solver and keeps the solver's parameters; call share_with of "
                     "the other net, or load a file with copy_from");
  }
  if (other.device_ != recipe_->device()) {
    throw UsageError("nets '", graph().spec.name, "' and '", other.graph().spec.name,
                     "' are on different devices");
  }
  if (net_->plan().backward.empty()) return;
  for (size_t i = 0; i < graph().params.size(); ++i) {
    const Param& own = net_->params().param(net_->plan().param_index[i]);
    const auto& theirs = other.net_->params().params();
    const bool found = std::any_of(theirs.begin(), theirs.end(), [&](const Param& param) {
      return param.layer == own.layer && param.index == own.index && (param.grad || !own.grad);
    });
    if (found) continue;
    throw UsageError("net '", graph().spec.name, "' computes gradients, and net '",
                     other.graph().spec.name, "' has none for parameter ", own.index, " of layer '",
                     own.layer,
                     "'; share in the other direction, or create this net for TEST without a loss");
  }
}

void LiveNet::ShareWith(LiveNet* other) {
  if (&net_->params() == &other->net_->params()) return;
  Reshape();
  const std::shared_ptr<Views> views = views_;  // must outlive its lock
  const std::scoped_lock turns(views->turn(), other->views_->turn());
  CheckThatItCanShare(*other);
  views_->Push();
  other->views_->Push();
  ParamStore& theirs = other->net_->params();
  const int before = static_cast<int>(theirs.params().size());
  NetRecipe shared = *recipe_;
  shared.Share(std::shared_ptr<ParamStore>(other->params_owner_, &theirs));
  const std::shared_ptr<NetRecipe::Made> made = shared.Make(shapes_, net_);
  for (size_t i = 0; i < graph().params.size(); ++i) {
    const int index = made->net->plan().param_index[i];
    if (index < before) continue;
    const Tensor own = net_->params().param(net_->plan().param_index[i]).value;
    WriteTensor(ReadTensor(own, device_).data, theirs.param(index).value, device_);
  }
  GoOnWith(made, {});
  *recipe_ = std::move(shared);
  views_ = other->views_;  // otherwise each net would overwrite the copies of the other
  views_->Pull();
}

int LiveNet::FindLayer(const std::string& name) const {
  std::vector<std::string> names;
  for (size_t n = 0; n < graph().nodes.size(); ++n) {
    names.push_back(graph().layer(static_cast<int>(n)).name());
    if (names.back() == name) return static_cast<int>(n);
  }
  throw UsageError("the net has no layer '", name, "'", DidYouMeanOneOf(name, names));
}

std::vector<std::string> LiveNet::BlobNames() const { return doppio::BlobNames(graph()); }

std::vector<std::string> LiveNet::inputs() const {
  std::vector<std::string> names;
  for (const LayerSpec& layer : graph().spec.layers) {
    if (!IsInput(layer)) continue;
    names.insert(names.end(), layer.param.top().begin(), layer.param.top().end());
  }
  return names;
}

std::vector<std::string> LiveNet::outputs() const {
  std::vector<std::string> names;
  for (int output : graph().outputs) names.push_back(graph().edges[output].name);
  return names;
}

Shape LiveNet::ShapeOf(const std::string& blob) const {
  const auto staged = staged_.find(blob);
  return staged != staged_.end() ? staged->second.shape
                                 : graph().edges[graph().FindEdge(blob)].shape;
}

py::array LiveNet::ShowValue(const std::string& blob) {
  const auto staged = staged_.find(blob);
  if (staged == staged_.end()) return Show(net_->Blob(blob), false);
  const std::shared_ptr<std::vector<float>>& values = staged->second.values;
  return ShowMemory(Tensor({staged->second.shape, DType::kFloat32, Layout()}, values->data()),
                    values);
}

Tensor LiveNet::ParamTensor(int node, int index, Tensor Param::*part) const {
  const Node& of = graph().nodes[node];
  Tensor tensor = net_->params().param(net_->plan().param_index[of.params[index]]).*part;
  tensor.shape = of.param_shapes[index];
  return tensor;
}

py::array LiveNet::Show(const Tensor& tensor, bool of_param) {
  return views_->Show(tensor, device_, of_param ? params_owner_ : OwnerOfBlobs());
}

// Requires the GIL.
std::shared_ptr<void> LiveNet::OwnerOfBlobs() {
  std::shared_ptr<Kept> kept = kept_.lock();
  if (kept == nullptr || kept->owner != owner_ || kept->memory != net_->plan().buffers)
    kept_ = kept = std::make_shared<Kept>(Kept{owner_, net_->plan().buffers});
  return kept;
}

}  // namespace doppio
