// Ranks that are threads of the test and meet by TCP on this machine.
#ifndef DOPPIO_TESTS_PARALLEL_TCP_CASE_H_
#define DOPPIO_TESTS_PARALLEL_TCP_CASE_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "parallel/tcp/rendezvous.h"
#include "tests/testing/mistake.h"

namespace doppio {

// Returns a port that is free now.
inline int FreePort() {
  int64_t port = 0;
  const Socket socket = Listen(1, &port);
  return static_cast<int>(port);
}

// Calls body(rank) in a thread for each rank. Returns the message of what each rank has thrown, by
// rank; "" for a rank that has thrown nothing.
inline std::vector<std::string> InThreads(int size, const std::function<void(int rank)>& body) {
  std::vector<std::string> thrown(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back(
        [&, rank] { thrown[rank] = MistakeIfAny<std::exception>([&] { body(rank); }); });
  }
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

inline RendezvousOptions RendezvousOf(int port, int rank, int size) {
  RendezvousOptions options;
  options.address = "127.0.0.1";
  options.port = port;
  options.rank = rank;
  options.size = size;
  options.secret = "a secret";
  options.seconds = 20;
  return options;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_PARALLEL_TCP_CASE_H_
