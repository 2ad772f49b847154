// A graph of layers that have only parameters, for tests of files. It has no kernels and no shape
// inference.
#ifndef DOPPIO_TESTS_CORE_NET_TINY_NET_H_
#define DOPPIO_TESTS_CORE_NET_TINY_NET_H_

#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/plain_blob.h"
#include "core/net/graph/graph.h"
#include "core/net/store/params.h"

namespace doppio {

// Parameters hold 0 until Number fills them.
struct TinyNet {
  Graph graph;
  std::unique_ptr<Device> device = MakeCpuDevice();
  std::unique_ptr<ParamStore> store;
  std::vector<int> index;

  TinyNet() { graph.spec.name = "tiny"; }

  void Layer(const std::string& name, const std::string& type, const std::vector<Shape>& shapes) {
    Node node;
    for (size_t i = 0; i < shapes.size(); ++i) {
      GraphParam param;
      param.node = static_cast<int>(graph.nodes.size());
      param.index = static_cast<int>(i);
      param.shape = shapes[i];
      node.params.push_back(static_cast<int>(graph.params.size()));
      graph.params.push_back(param);
    }
    AddNode(name, type, node, shapes);
  }
  // Adds a layer that uses existing parameters of the graph.
  void Sharer(const std::string& name, const std::vector<int>& params) {
    Node node;
    std::vector<Shape> shapes;
    node.params = params;
    for (int p : params) shapes.push_back(graph.params[static_cast<size_t>(p)].shape);
    AddNode(name, "InnerProduct", node, shapes);
  }
  void Allocate(DType type = DType::kFloat32) {
    store = std::make_unique<ParamStore>(device.get(), type, 1);
    index = store->Resolve(graph);
  }
  void Place() {
    store->Place(true, {});
    store->Allocate();
  }
  // Fills parameter p with start, start + 1, ...
  void Number(int p, float start) {
    const Tensor& value = Value(p);
    std::vector<float> data(static_cast<size_t>(value.count()));
    for (size_t i = 0; i < data.size(); ++i) data[i] = start + static_cast<float>(i);
    WriteTensor(data, value, device.get());
  }
  const Tensor& Value(int p) const {
    return store->params()[static_cast<size_t>(index[static_cast<size_t>(p)])].value;
  }
  std::vector<float> Floats(int p) const { return ReadTensor(Value(p), device.get()).data; }

 private:
  void AddNode(const std::string& name, const std::string& type, Node node,
               const std::vector<Shape>& shapes) {
    static const LayerType without_traits = LayerType();
    node.type = &without_traits;
    LayerSpec spec;
    spec.param.set_name(name);
    spec.param.set_type(type);
    spec.places =
        FieldPlaces(SourceLoc{"net.prototxt", static_cast<int>(graph.nodes.size()) + 1, 1});
    node.param_shapes = shapes;
    graph.spec.layers.push_back(spec);
    graph.nodes.push_back(node);
  }
};

// Returns a net whose layers have the shapes of TwoLayers() in weight_files.h.
inline TinyNet TwoLayerNet(DType type = DType::kFloat32) {
  TinyNet net;
  net.Layer("conv", "Convolution", {{2, 3, 1, 1}, {2}});
  net.Layer("ip", "InnerProduct", {{3, 4}, {3}});
  net.Allocate(type);
  net.Place();
  return net;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_CORE_NET_TINY_NET_H_
