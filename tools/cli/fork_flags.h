// Flags of Caffe's programs and of its forks, and the names that other programs give to commands
// and flags.
//
// Doppio accepts the flags that only forks have, so that scripts for those forks run, and warns
// that they have no effect. The warning names the equivalent in Doppio.
#ifndef DOPPIO_TOOLS_CLI_FORK_FLAGS_H_
#define DOPPIO_TOOLS_CLI_FORK_FLAGS_H_

#include <string>
#include <vector>

namespace doppio {

struct ForkFlag {
  const char* name;
  const char* fork;
  bool takes_value;
  const char* instead;  // the end of the warning: "...; INSTEAD"
};

// Returns the fork flag of this name, or null if no fork has one.
const ForkFlag* FindForkFlag(const std::string& name);

// Returns true for the flags of BVLC Caffe's programs, which its scripts give to any of its
// commands.
bool IsCaffeFlag(const std::string& name);

// Returns true if `value` is one of Intel Caffe's values of --engine: MKLDNN, MKLDNN:CPU, MKL2017
// (the fastest kernels) or CAFFE (the plain kernels).
bool IsForkEngine(const std::string& value);

// Returns the command that users of other programs mean by a word, with its verb or a flag:
// "classify" by "predict". Returns "" for other words.
std::string CommandMeantBy(const std::string& word);

// Returns the flag that users of other programs mean by a name, such as "--set base_lr=..." by
// "lr", if `flags` has it; else "".
std::string FlagMeantBy(const std::string& name, const std::vector<std::string>& flags);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FORK_FLAGS_H_
