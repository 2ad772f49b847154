// Keeps freed memory blocks by size class for reuse, and counts the bytes in use. The device
// allocates the blocks and gives the addresses their meaning. Thread-safe.
#ifndef DOPPIO_CORE_DEVICE_BLOCK_CACHE_H_
#define DOPPIO_CORE_DEVICE_BLOCK_CACHE_H_

#include <cstdint>
#include <map>
#include <mutex>

namespace doppio {

class BlockCache {
 public:
  // Returns a kept block of `size` bytes, or else the result of make(), which may throw and may
  // call Clear.
  template <class Make>
  void* Take(int64_t size, const Make& make) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    void* memory = nullptr;
    auto it = free_.find(size);
    if (it != free_.end()) {
      memory = it->second;
      free_.erase(it);
      cached_bytes_ -= size;
    } else {
      memory = make();
      sizes_[memory] = size;
    }
    in_use_ += size;
    if (in_use_ > peak_) peak_ = in_use_;
    return memory;
  }

  // Returns a block to the cache. `memory` must come from Take.
  void Put(void* memory) noexcept {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    const int64_t size = sizes_.find(memory)->second;
    in_use_ -= size;
    free_.emplace(size, memory);
    cached_bytes_ += size;
  }

  // Removes the kept blocks and calls free(memory) for each. Returns false if there were none.
  template <class Free>
  bool Clear(const Free& free) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    const bool any = !free_.empty();
    for (auto& block : free_) {
      sizes_.erase(block.second);
      free(block.second);
    }
    free_.clear();
    cached_bytes_ = 0;
    return any;
  }

  int64_t bytes_in_use() const {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    return in_use_;
  }
  // Returns the bytes of the blocks that the cache keeps for reuse.
  int64_t cached_bytes() const {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    return cached_bytes_;
  }
  // Returns the highest number of bytes that were ever in use.
  int64_t peak_bytes() const {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    return peak_;
  }

 private:
  mutable std::recursive_mutex mutex_;
  std::multimap<int64_t, void*> free_;
  std::map<void*, int64_t> sizes_;
  int64_t in_use_ = 0, cached_bytes_ = 0, peak_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_BLOCK_CACHE_H_
