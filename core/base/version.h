// Version and build of this program. core/base/version.txt contains the version; the build supplies
// the commit.
#ifndef DOPPIO_CORE_BASE_VERSION_H_
#define DOPPIO_CORE_BASE_VERSION_H_

#include <string>

namespace doppio {

// Returns the version, e.g. "0.1.0".
std::string Version();

// Returns the commit as 40 hexadecimal digits, followed by "+changes" if the working tree differed
// from it. Returns "" in unstamped builds: under `bazel test`, and from sources that are neither a
// git checkout nor an archive of one.
std::string Commit();

// Returns "0.1.0 (abc1234)", or "0.1.0" if the commit is unknown.
std::string BuildIdentity();

// The build configuration of this program, which decides on which machines it can run.
struct BuildFacts {
  std::string kind;          // "native", "generic" or "portable"
  std::string kind_meaning;  // explains `kind` to users
  std::string compiler;      // "GCC 12.2.0"
  std::string instructions;  // the widest vector instructions in Doppio's own code, e.g. "AVX-512"
};
BuildFacts HowBuilt();

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_VERSION_H_
