// Owns the descriptor of an open file, pipe or socket, and closes it when destroyed.
#ifndef DOPPIO_CORE_BASE_UNIQUE_FD_H_
#define DOPPIO_CORE_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace doppio {

class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Writes all of `text`. Returns false, with the reason in errno, if that fails.
inline bool WriteAll(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) done += static_cast<size_t>(written);
  }
  return true;
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_UNIQUE_FD_H_
