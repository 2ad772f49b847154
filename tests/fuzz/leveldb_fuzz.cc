// Fuzzes the reader of LevelDB databases. An input is the contents of kFiles in their order; each
// file follows its length (2 bytes, little-endian).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/read_records.h"

namespace {

constexpr size_t kMostBytes = 1 << 30;  // limit per allocation

constexpr const char* kFiles[] = {"CURRENT", "MANIFEST-000004", "000005.ldb", "000006.log"};

// Returns the content of the next file and advances *at. The content is cut off at `end`.
std::string Take(const uint8_t** at, const uint8_t* end) {
  if (end - *at < 2) return "";
  const ptrdiff_t length = (*at)[0] | (*at)[1] << 8;
  *at += 2;
  const size_t bytes = static_cast<size_t>(std::min(length, end - *at));
  *at += bytes;
  return doppio::Text(*at - bytes, bytes);
}

}  // namespace

// LevelDB allocates the block size that the file names without checking it. If memory is short,
// operator new throws std::bad_alloc, but AddressSanitizer's version aborts; hence this one.
void* operator new[](size_t bytes) {
  void* memory = bytes <= kMostBytes ? std::malloc(bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Each input gets a separate folder, because LevelDB writes to a database and may keep a damaged
  // one open.
  static int64_t inputs = 0;
  const std::string folder = doppio::FuzzPath("leveldb" + std::to_string(++inputs));
  std::filesystem::create_directory(folder);
  const uint8_t* const end = data + size;
  for (const char* file : kFiles) doppio::WriteInput(folder + "/" + file, Take(&data, end));
  doppio::AllowErrors(
      [&] { doppio::ReadRecords(doppio::SourceAt(doppio::DataParameter::LEVELDB, folder)); });
  std::filesystem::remove_all(folder);
  return 0;
}
