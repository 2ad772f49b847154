// The version and the build of this program. core/base/version.txt holds the version; the build
// supplies the commit.
#ifndef DOPPIO_CORE_BASE_VERSION_H_
#define DOPPIO_CORE_BASE_VERSION_H_

#include <string>

namespace doppio {

// "0.1.0"
std::string Version();

// 40 hexadecimal digits, followed by "+changes" if the tree differed from that commit. Empty in
// builds that are not stamped: `bazel test`, and sources that are neither a git checkout nor an
// archive of one.
std::string Commit();

// "0.1.0 (abc1234)", or "0.1.0" where the commit is unknown.
std::string BuildIdentity();

// How this program was compiled: for the machine that compiled it, or for others.
struct BuildFacts {
  std::string kind;          // "native", "generic" or "portable"
  std::string kind_meaning;  // explains `kind` to users
  std::string compiler;      // "GCC 12.2.0"
  std::string instructions;  // the widest vectors that Doppio's own code uses: "AVX-512"
};
BuildFacts HowBuilt();

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_VERSION_H_
