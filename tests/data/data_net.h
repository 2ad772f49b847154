// A net with one data layer, for tests.
#ifndef DOPPIO_TESTS_DATA_DATA_NET_H_
#define DOPPIO_TESTS_DATA_DATA_NET_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/threads.h"
#include "core/net/contract/sample_source.h"
#include "core/net/run/net.h"
#include "core/net/spec/prototxt.h"
#include "tests/data/tiny_data.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/test_layers.h"

namespace doppio {

inline Graph MakeTestGraph(const std::string& text, DataMode mode, Phase phase = TRAIN,
                           int64_t batch = 0, DType stored = DType::kFloat32) {
  NetParameter net;
  const FieldPlaces places = ParseText(text, "net.prototxt", &net);
  NetState state;
  state.set_phase(phase);
  NetOptions options;
  options.data = mode;
  options.batch = batch;
  options.seed = 9;
  options.stored = stored;
  return MakeGraph(MakeNetSpec(net, places, state, options));
}

class DataNet {
 public:
  explicit DataNet(const std::string& layer, DataMode mode = DataMode::kOpen, Phase phase = TRAIN,
                   DType dtype = DType::kFloat32, std::unique_ptr<Device> device = MakeCpuDevice(),
                   DType stored = DType::kFloat32)
      : device_(std::move(device)) {
    Graph graph = MakeTestGraph("layer { name: 'input' " + layer + " }", mode, phase, 0, stored);
    PlanOptions options;
    options.device = device_.get();
    options.dtype = dtype;
    options.keep_all = true;
    store_ = std::make_unique<ParamStore>(device_.get(), dtype, 1);
    net_ = std::make_unique<Net>(std::move(graph), options, store_.get());
  }

  Net* operator->() { return net_.get(); }
  Kernel* kernel() { return net_->plan().kernel(0); }
  SampleSource* source() { return SourceOf(kernel()); }
  const Tensor& Top(size_t i) { return net_->plan().tensors[0].tops[i]; }
  Device* device() { return device_.get(); }
  // Returns the values of each top of the layer.
  std::vector<std::vector<double>> Tops() {
    std::vector<std::vector<double>> tops;
    for (const Tensor& top : net_->plan().tensors[0].tops) {
      tops.push_back(ReadPlain(top, device_.get()));
    }
    return tops;
  }
  Shape ShapeOf(const std::string& blob) { return net_->Blob(blob).shape; }
  std::vector<double> Values(const std::string& blob) {
    const Tensor tensor = net_->Blob(blob);
    return ReadPlain(tensor, device_.get());
  }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<ParamStore> store_;
  std::unique_ptr<Net> net_;
};

inline std::string Shapes(const std::string& layer, DataMode mode, int64_t batch = 0) {
  const Graph graph = MakeTestGraph("layer { name: 'input' " + layer + " }", mode, TRAIN, batch);
  std::string text;
  for (const Edge& edge : graph.edges) text += edge.name + " " + edge.shape.ToString() + "; ";
  return text;
}

inline std::string LayerMistake(const std::string& layer, DataMode mode = DataMode::kOpen) {
  return MessageOf([&] { Shapes(layer, mode); });
}

// Writes a database of three records of 1x1x2, with values 10 i and 10 i + 1 and labels 5 + i.
// Returns its path.
inline std::string ThreeRecords() {
  const std::string path = ScratchPath("db");
  KeysAndValues records;
  for (int i = 0; i < 3; ++i) {
    records.push_back({std::to_string(i), RawDatum(1, 1, 2, {10 * i, 10 * i + 1}, 5 + i)});
  }
  WriteLmdb(path, records);
  return "type: 'Data' top: 'd' top: 'l' data_param { backend: LMDB source: '" + path +
         "' batch_size: 2 } ";
}

// Expects the layer to deliver the same batches with one thread and with several.
inline void ExpectSameWithAnyThreads(const std::string& layer, Phase phase = TRAIN) {
  std::vector<std::vector<std::vector<double>>> expected;
  for (int threads : {1, 2, 3, 5}) {
    const ThreadCount count(threads);
    DataNet net(layer, DataMode::kOpen, phase);
    for (size_t pass = 0; pass < 4; ++pass) {
      net->Forward();
      if (threads == 1) expected.push_back(net.Tops());
      EXPECT_EQ(net.Tops(), expected[pass])
          << threads << " threads, pass " << pass << ": " << layer;
    }
  }
}

inline std::vector<double> Rounded(std::vector<double> values, DType type) {
  for (double& value : values) {
    DispatchStored(type, [&](auto zero) {
      value = static_cast<float>(static_cast<decltype(zero)>(static_cast<float>(value)));
    });
  }
  return values;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_DATA_DATA_NET_H_
