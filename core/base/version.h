// Which Doppio this is. core/base/version.txt holds the version; the commit comes from the build.
#ifndef DOPPIO_CORE_BASE_VERSION_H_
#define DOPPIO_CORE_BASE_VERSION_H_

#include <string>

namespace doppio {

// "0.1.0"
std::string Version();

// 40 hexadecimal digits, with "+changes" behind them when the tree differed from that commit.
// Empty in builds that are not stamped: `bazel test`, and sources without git or archive.
std::string Commit();

// "0.1.0 (abc1234)", or "0.1.0" where the commit is unknown.
std::string BuildIdentity();

// How this program was made: for the machine that compiled it, or for others.
struct BuildFacts {
  std::string kind;  // "native", "generic" or "portable"; kind_meaning says it in words
  std::string kind_meaning;
  std::string compiler;      // "GCC 12.2.0"
  std::string instructions;  // the widest vectors that its own code uses: "AVX-512"
};
BuildFacts HowBuilt();

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_VERSION_H_
