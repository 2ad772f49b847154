// A net in the TEST phase on the CPU or a GPU, run as one rank of several, for tests of layers that
// take samples from a program or write files.
#ifndef DOPPIO_TESTS_LAYERS_SOURCE_MEMORY_NET_H_
#define DOPPIO_TESTS_LAYERS_SOURCE_MEMORY_NET_H_

#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/sample_source.h"
#include "core/net/run/find_memory_source.h"
#include "core/net/run/net.h"
#include "core/net/spec/prototxt.h"
#include "tests/testing/test_layers.h"

namespace doppio {

// Owns the device, the parameters and the net. Keeps all blobs, so that Values() can read any.
class MemoryNet {
 public:
  explicit MemoryNet(const std::string& text, int rank = 0, int ranks = 1,
                     DType dtype = DType::kFloat32,
                     std::unique_ptr<Device> device = MakeCpuDevice(),
                     DataMode mode = DataMode::kOpen)
      : device_(std::move(device)) {
    NetParameter param;
    const FieldPlaces places = ParseText(text, "net.prototxt", &param);
    NetState state;
    state.set_phase(TEST);
    NetOptions net_options;
    net_options.data = mode;
    PlanOptions options;
    options.device = device_.get();
    options.dtype = dtype;
    options.keep_all = true;
    store_ = std::make_unique<ParamStore>(device_.get(), dtype, 1);
    net_ = std::make_unique<Net>(MakeGraph(MakeNetSpec(param, places, state, net_options)), options,
                                 store_.get());
    net_->pass().rank = net_->pass().writer = rank;
    net_->pass().ranks = ranks;
  }

  Net* operator->() { return net_.get(); }
  Net& net() { return *net_; }
  std::vector<double> Values(const std::string& blob) {
    return ReadPlain(net_->Blob(blob), device_.get());
  }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<ParamStore> store_;
  std::unique_ptr<Net> net_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_SOURCE_MEMORY_NET_H_
