// Distinguishes builds of the same version from different sources.
#ifndef DOPPIO_TOOLS_CLI_SOURCE_DIGEST_H_
#define DOPPIO_TOOLS_CLI_SOURCE_DIGEST_H_

namespace doppio {

// "sources 1f3a09c2b7d4": a digest of all source files of the program. It leaves out compilers,
// flags and libraries, because the machines of one cluster may have builds for different CPUs.
// tools/BUILD generates it.
extern const char* const kSourceDigest;

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_SOURCE_DIGEST_H_
