#include "python/net_recipe.h"

#include <algorithm>
#include <utility>

#include "core/net/contract/layer.h"
#include "core/net/graph/gradient_flow.h"
#include "core/net/run/infer_again.h"
#include "core/net/spec/preprocessing.h"

namespace doppio {
namespace {

// Sets one shape per top of an Input layer: the shape in `shapes`, or else the shape in the file.
void GiveShapes(const std::map<std::string, Shape>& shapes, LayerParameter* layer) {
  InputParameter* param = layer->mutable_input_param();
  InputParameter each;
  for (int i = 0; i < layer->top_size(); ++i) {
    const auto given = shapes.find(layer->top(i));
    if (given != shapes.end()) {
      BlobShape* shape = each.add_shape();
      for (int64_t dim : given->second.dims()) shape->add_dim(dim);
    } else if (param->shape_size() > 0) {
      *each.add_shape() = param->shape(std::min(i, param->shape_size() - 1));
    }
  }
  param->Swap(&each);
}

bool HasBackward(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return node.backward; });
}

// Makes the gradients of a net without a loss begin at its outputs, if force_backward is set.
// Scripts then write the gradients of the outputs. Returns true if it changed the graph.
bool BeginAtOutputs(Graph* graph) {
  if (!graph->spec.force_backward || HasBackward(*graph)) return false;
  for (int output : graph->outputs) {
    Edge& edge = graph->edges[output];
    if (graph->nodes[edge.producer].shape.has_backward) edge.loss_weight = 1;
  }
  FindGradients(graph);
  return true;
}

}  // namespace

NetRecipe::NetRecipe(const std::string& file, Phase phase, int level,
                     const std::vector<std::string>& stages, std::shared_ptr<Device> device,
                     uint64_t seed)
    : source_(LoadNet(file, {}, phase, level, stages)),
      device_(std::move(device)),
      // The parameters keep the device alive.
      params_(new ParamStore(device_.get(), DType::kFloat32, seed),
              [device = device_](ParamStore* p) { delete p; }) {
  options_.phase = phase;
  options_.seed = seed;
  if (phase == TRAIN) test_images_ = DescribeTestImages(source_);
}

std::shared_ptr<Net> NetRecipe::Make(const std::map<std::string, Shape>& shapes,
                                     const Net* before) const {
  NetSpec spec = MakeNetSpec(source_.net, source_.places, source_.state, options_);
  for (LayerSpec& layer : spec.layers) {
    if (!shapes.empty() && TakesInput(layer.type())) GiveShapes(shapes, &layer.param);
  }
  if (before != nullptr) {
    StoreForms(before->plan().kernels, std::vector<bool>(spec.layers.size(), false), &spec);
  }
  Graph graph = MakeGraph(std::move(spec));
  ClearForms(&graph.spec);
  graph.preprocessing = ForUse(test_images_, graph.preprocessing);
  PlanOptions plan;
  plan.device = device_.get();
  plan.user_gradients = BeginAtOutputs(&graph);
  plan.backward = HasBackward(graph);
  plan.keep_all = true;
  return std::shared_ptr<Net>(new Net(std::move(graph), plan, params_.get()),
                              [device = device_, params = params_](Net* net) { delete net; });
}

}  // namespace doppio
