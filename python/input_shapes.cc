#include "python/input_shapes.h"

#include <algorithm>

#include "python/graph_names.h"

namespace doppio {

void InputShapes::Request(const Graph& graph, const std::string& blob, const Shape& shape) {
  const std::vector<std::string> names = InputNames(graph);
  if (std::find(names.begin(), names.end(), blob) == names.end()) {
    const Edge& edge = graph.edges[graph.FindEdge(blob)];
    throw UsageError("blob '", blob, "' is a top of layer '", graph.layer(edge.producer).name(),
                     "'; only tops of Input layers can be reshaped");
  }
  for (int64_t dim : shape.dims()) {
    if (dim < 1)
      throw UsageError("shape ", shape.ToString(), " of blob '", blob,
                       "': extents must be at least 1");
  }
  requests_[blob] = {shape, std::make_shared<std::vector<float>>(shape.count())};
}

const InputShapes::Input* InputShapes::Find(const std::string& blob) const {
  const auto found = requests_.find(blob);
  return found == requests_.end() ? nullptr : &found->second;
}

std::map<std::string, Shape> InputShapes::ShapesWith(const Requests& requests) const {
  std::map<std::string, Shape> shapes = shapes_;
  for (const auto& [blob, input] : requests) shapes[blob] = input.shape;
  return shapes;
}

void InputShapes::Fulfil(const Requests& requests) {
  shapes_ = ShapesWith(requests);
  for (const auto& [blob, input] : requests) {
    const auto now = requests_.find(blob);
    // Another thread may have requested another shape in the meantime.
    if (now != requests_.end() && now->second.values == input.values) requests_.erase(now);
  }
}

}  // namespace doppio
