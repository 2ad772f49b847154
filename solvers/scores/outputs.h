// Reads the output values of a net, one per element of its output blobs, and logs them in Caffe's
// format.
#ifndef DOPPIO_SOLVERS_SCORES_OUTPUTS_H_
#define DOPPIO_SOLVERS_SCORES_OUTPUTS_H_

#include <string>
#include <vector>

#include "core/net/run/net.h"

namespace doppio {

struct OutputValue {
  std::string blob;
  float loss_weight = 0;
  double value = 0;
  // For the scores of a test only. A score is absent if the test has no label that determines it,
  // such as the accuracy of a class without labels; `value` is then NaN.
  bool absent = false;
  int of_class = -1;  // the class that the value belongs to, or -1
  std::string class_name = {};
  bool score = true;  // see IsScore
};

// Returns the elements of a tensor, copied to the host, in the order in which they are stored.
std::vector<double> ReadValues(const Tensor& tensor, Device* device);

// Returns the output values in the order of net.outputs(), copied to the host.
std::vector<OutputValue> ReadOutputs(const Net& net);

// Returns Caffe's text for a value, "loss = 0.26 (* 1 = 0.26 loss)", followed by its class, as in
// "per_class = 0.5 (class 3: cat)".
std::string OutputText(const OutputValue& output);
// Logs one line per value, such as "    Test net output #0: loss = 0.26 (* 1 = 0.26 loss)": at most
// 1000 lines, and 10 for a blob that is not a score. A note has the number of the blob's other
// values. `kind` is "Train" or "Test". Each line ends with `label`, such as " (rank 0)".
void LogOutputs(const char* kind, const std::vector<OutputValue>& outputs,
                const std::string& label = "");

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_SCORES_OUTPUTS_H_
