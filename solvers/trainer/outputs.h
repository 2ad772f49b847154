// Reads the output values of a net, one per element of its output blobs, and logs them in Caffe's
// format.
#ifndef DOPPIO_SOLVERS_TRAINER_OUTPUTS_H_
#define DOPPIO_SOLVERS_TRAINER_OUTPUTS_H_

#include <string>
#include <vector>

#include "core/net/run/net.h"

namespace doppio {

struct OutputValue {
  std::string blob;
  float loss_weight = 0;
  double value = 0;
};

// Returns the output values in the order of net.outputs(), copied to the host.
std::vector<OutputValue> ReadOutputs(const Net& net);

// Logs one line per value, such as "    Test net output #0: loss = 0.26 (* 1 = 0.26 loss)": at most
// 1000 lines, then a note with the number of values left out. `kind` is "Train" or "Test". Each
// line ends with `label`, such as " (rank 0)".
void LogOutputs(const char* kind, const std::vector<OutputValue>& outputs,
                const std::string& label = "");

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_OUTPUTS_H_
