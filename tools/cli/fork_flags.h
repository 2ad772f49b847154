// Flags that only forks of Caffe have, so that their scripts run: they are taken with a warning
// that says what does the same here.
#ifndef DOPPIO_TOOLS_CLI_FORK_FLAGS_H_
#define DOPPIO_TOOLS_CLI_FORK_FLAGS_H_

#include <string>

namespace doppio {

struct ForkFlag {
  const char* name;
  const char* fork;
  bool takes_value;
  const char* instead;  // ends a sentence: "...; INSTEAD"
};

// Null when no fork has it.
const ForkFlag* FindForkFlag(const std::string& name);

// Intel Caffe's names for the fastest kernels and the plain ones, in the values of --engine:
// MKLDNN, MKLDNN:CPU, MKL2017, CAFFE.
bool IsForkEngine(const std::string& value);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FORK_FLAGS_H_
