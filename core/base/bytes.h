// Formats amounts of memory for messages.
#ifndef DOPPIO_CORE_BASE_BYTES_H_
#define DOPPIO_CORE_BASE_BYTES_H_

#include <cstdint>
#include <string>

namespace doppio {

// Formats `bytes` with the largest fitting unit up to GiB and one decimal: 5033165 -> "4.8 MiB".
std::string Bytes(int64_t bytes);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_BYTES_H_
