// The numbers a net puts out, one per element of its output blobs, and the log lines that show them
// in Caffe's words.
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

// In the order of net.outputs(), copied to the host.
std::vector<OutputValue> ReadOutputs(const Net& net);

// "    Test net output #0: loss = 0.26 (* 1 = 0.26 loss)"; `kind` is "Train" or "Test".
std::string OutputLine(const char* kind, size_t index, const OutputValue& output);

// One line each. A net whose outputs hold thousands of numbers (a blob nobody reads) gets the first
// ones and a note.
void LogOutputs(const char* kind, const std::vector<OutputValue>& outputs);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_OUTPUTS_H_
