// A parameter store without a net, for tests of updates. Tests set values and gradients as numbers.
#ifndef DOPPIO_TESTS_SOLVERS_PARAM_STORE_CASE_H_
#define DOPPIO_TESTS_SOLVERS_PARAM_STORE_CASE_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/store/params.h"
#include "solvers/update/update.h"

namespace doppio {

struct ParamCase {
  Shape shape;
  double value = 0;
  float lr_mult = 1, decay_mult = 1;
  bool trainable = true;
  bool gradient = true;
};

// A store for layers "a", "b", ... with one parameter each.
class ParamStoreCase {
 public:
  explicit ParamStoreCase(const std::vector<ParamCase>& cases, DType dtype = DType::kFloat64,
                          std::unique_ptr<Device> device = MakeCpuDevice())
      : device_(std::move(device)), store_(device_.get(), dtype, 1) {
    Graph graph;
    for (size_t i = 0; i < cases.size(); ++i) {
      LayerSpec layer;
      layer.param.set_name(std::string(1, static_cast<char>('a' + i)));
      graph.spec.layers.push_back(layer);
      GraphParam param;
      param.node = static_cast<int>(i);
      param.shape = cases[i].shape;
      param.filler.set_value(static_cast<float>(cases[i].value));
      param.lr_mult = cases[i].lr_mult;
      param.decay_mult = cases[i].decay_mult;
      param.trainable = cases[i].trainable;
      graph.params.push_back(param);
    }
    const std::vector<int> indices = store_.Resolve(graph);
    // Backward completes the last layer first.
    store_.Place(true, std::vector<int>(indices.rbegin(), indices.rend()));
    store_.Allocate();
    for (size_t i = 0; i < cases.size(); ++i)
      store_.param(static_cast<int>(i)).gradient = cases[i].gradient;
  }

  ParamStore& store() { return store_; }

  // Sets all elements of a parameter's gradient.
  void SetGradient(int param, double gradient) {
    for (int64_t i = 0; i < store_.param(param).grad.count(); ++i) SetGradient(param, i, gradient);
  }

  void SetGradient(int param, int64_t element, double gradient) {
    const Tensor& grad = store_.param(param).grad;
    DispatchFloat(grad.dtype, [&](auto type) {
      using T = decltype(type);
      const T value = static_cast<T>(gradient);
      device_->CopyFromHost(grad.data<T>() + element, &value, sizeof value);
    });
  }

  double Value(int param, int64_t element = 0) {
    const Tensor& value = store_.param(param).value;
    return DispatchFloat(value.dtype, [&](auto type) {
      decltype(type) copy = 0;
      device_->CopyToHost(&copy, value.data<decltype(type)>() + element, sizeof copy);
      return static_cast<double>(copy);
    });
  }

 private:
  std::unique_ptr<Device> device_;
  ParamStore store_;
};

// Returns an update for the solver in `solver`, a prototxt text.
inline Update MakeUpdate(const std::string& solver, ParamStore* store) {
  SolverParameter param;
  const FieldPlaces places = ParseText(solver, "solver.prototxt", &param);
  return Update(param, places, store);
}

// Returns copies of the history in plain layout on the host.
inline std::vector<PlainBlob> ReadHistory(const Update& update, Device* device) {
  std::vector<PlainBlob> blobs;
  for (const Tensor& tensor : update.history().Gather(nullptr).blobs)
    blobs.push_back(ReadTensor(tensor, device));
  return blobs;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_SOLVERS_PARAM_STORE_CASE_H_
