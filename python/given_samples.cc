#include "python/given_samples.h"

#include <utility>

#include "core/net/run/find_memory_source.h"

namespace doppio {
namespace py = pybind11;

void GivenSamples::Give(const Samples& samples, const std::string& layer, const Net& net) {
  FindMemorySource(net, layer)
      .SetSamples(static_cast<const float*>(samples.data.data()),
                  static_cast<const float*>(samples.labels.data()), samples.data.shape(0));
}

void GivenSamples::Set(const ShownNet& net, const std::string& layer, const py::array& data,
                       const py::array& labels) {
  Samples samples = {data, labels};
  const py::gil_scoped_release release;
  const std::lock_guard<std::recursive_mutex> turn(net.turn());
  Give(samples, layer, net.net());
  const py::gil_scoped_acquire gil;
  std::swap(samples_[layer], samples);
}

void GivenSamples::GiveTo(const Net& net) const {
  for (const auto& [layer, samples] : samples_) Give(samples, layer, net);
}

}  // namespace doppio
