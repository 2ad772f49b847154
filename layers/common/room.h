// Assigns 64-byte aligned pieces of a block of memory. If the block is null, it only counts their
// bytes. So a kernel uses the same code in its constructor, to measure its memory, and in Bind, to
// place its arrays.
#ifndef DOPPIO_LAYERS_COMMON_ROOM_H_
#define DOPPIO_LAYERS_COMMON_ROOM_H_

#include <cstdint>

#include "core/tensor/dtype.h"

namespace doppio {

class Room {
 public:
  explicit Room(void* memory) : memory_(static_cast<char*>(memory)) {}

  template <class T>
  T* Take(int64_t elements) {
    return static_cast<T*>(TakeBytes(elements * kBytesOf<T>));
  }
  void* TakeBytes(int64_t bytes) {
    void* taken = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return taken;
  }
  int64_t bytes() const { return bytes_; }

 private:
  char* memory_;
  int64_t bytes_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_ROOM_H_
