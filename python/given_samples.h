// The samples that a script gives to the MemoryData layers of a net.
#ifndef DOPPIO_PYTHON_GIVEN_SAMPLES_H_
#define DOPPIO_PYTHON_GIVEN_SAMPLES_H_

#include <pybind11/numpy.h>

#include <map>
#include <string>

#include "python/shown_net.h"

namespace doppio {

// Keeps the arrays that the layers read. Must be destroyed with the GIL.
class GivenSamples {
 public:
  // Makes a layer read these arrays of contiguous floats. Waits for the turn to use the net.
  // Requires the GIL, and releases it meanwhile.
  void Set(const ShownNet& net, const std::string& layer, const pybind11::array& data,
           const pybind11::array& labels);
  // Gives all samples to `net`, which has been created later. Requires the turn.
  void GiveTo(const Net& net) const;

 private:
  struct Samples {
    pybind11::array data, labels;
  };

  static void Give(const Samples& samples, const std::string& layer, const Net& net);

  std::map<std::string, Samples> samples_;  // by layer
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_GIVEN_SAMPLES_H_
