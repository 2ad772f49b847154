// Helpers for fuzz targets. A target is a function LLVMFuzzerTestOneInput that passes bytes to one
// of Doppio's readers. The reader may reject them with an Error; a crash, a sanitizer report or any
// other exception is a bug.
#ifndef DOPPIO_TESTS_FUZZ_FUZZ_INPUT_H_
#define DOPPIO_TESTS_FUZZ_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace doppio {

// Returns a copy of the bytes.
inline std::string Text(const uint8_t* data, size_t size) {
  return std::string(reinterpret_cast<const char*>(data), size);
}

// Runs `read`. Ignores an Error, unless it is an internal one (ExitCode::kBug), which aborts. Other
// exceptions pass through and end the program.
void AllowErrors(const std::function<void()>& read);

// Returns the path of a file or folder that belongs to this process: in TEST_TMPDIR, in TMPDIR, or
// in /tmp. Fuzzing writes there for each input, so TMPDIR should be in memory.
std::string FuzzPath(const std::string& name);

// Writes the bytes to the file at `path`, replacing its contents.
void WriteInput(const std::string& path, const std::string& bytes);

}  // namespace doppio

#endif  // DOPPIO_TESTS_FUZZ_FUZZ_INPUT_H_
