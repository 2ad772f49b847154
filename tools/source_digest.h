// Tells two builds apart whose version is the same.
#ifndef DOPPIO_TOOLS_SOURCE_DIGEST_H_
#define DOPPIO_TOOLS_SOURCE_DIGEST_H_

namespace doppio {

// "sources 1f3a09c2b7d4": a digest of all files that the program is built from. Compilers, flags
// and libraries are not in it, because the machines of one cluster may have builds for different
// CPUs. tools/BUILD generates it.
extern const char* const kSourceDigest;

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SOURCE_DIGEST_H_
