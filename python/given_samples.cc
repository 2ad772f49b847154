#include "python/given_samples.h"

#include <utility>

namespace doppio {
namespace py = pybind11;

void GivenSamples::Samples::GiveTo(MemorySource* source) const {
  source->SetSamples(static_cast<const float*>(data.data()),
                     static_cast<const float*>(labels.data()), data.shape(0));
}

void GivenSamples::Set(const ShownNet& net, const std::string& layer, const py::array& data,
                       const py::array& labels) {
  Samples samples = {data, labels};
  const py::gil_scoped_release release;
  const std::lock_guard<std::recursive_mutex> turn(net.turn());
  samples.GiveTo(&FindMemorySource(net.net(), layer));
  const py::gil_scoped_acquire gil;
  std::swap(samples_[layer], samples);
}

void GivenSamples::GiveTo(const Net& net) const {
  for (const auto& [layer, samples] : samples_) samples.GiveTo(&FindMemorySource(net, layer));
}

}  // namespace doppio
