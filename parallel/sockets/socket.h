// Owns a socket and closes it when destroyed.
#ifndef DOPPIO_PARALLEL_SOCKETS_SOCKET_H_
#define DOPPIO_PARALLEL_SOCKETS_SOCKET_H_

#include <unistd.h>

#include <utility>

namespace doppio {

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_SOCKETS_SOCKET_H_
