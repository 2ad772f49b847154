// The samples that scripts give to the MemoryData layers of a LiveNet.
#include <utility>

#include "python/live_net.h"

namespace doppio {
namespace py = pybind11;

void LiveNet::Samples::GiveTo(MemorySource* source) const {
  source->SetSamples(static_cast<const float*>(data.data()),
                     static_cast<const float*>(labels.data()), data.shape(0));
}

void LiveNet::SetSamples(const std::string& layer, const py::array& data, const py::array& labels) {
  Samples samples = {data, labels};
  const py::gil_scoped_release release;
  const std::lock_guard<std::recursive_mutex> turn(views_->turn());
  samples.GiveTo(&FindMemorySource(*net_, layer));
  const py::gil_scoped_acquire gil;
  std::swap(samples_[layer], samples);
}

void LiveNet::GiveSamples(const Net& net) const {
  for (const auto& [layer, samples] : samples_) samples.GiveTo(&FindMemorySource(net, layer));
}

}  // namespace doppio
