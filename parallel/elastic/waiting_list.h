// The processes that wait for a rendezvous, in the order of their coming, with their connections.
#ifndef DOPPIO_PARALLEL_ELASTIC_WAITING_LIST_H_
#define DOPPIO_PARALLEL_ELASTIC_WAITING_LIST_H_

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "parallel/elastic/elastic_messages.h"

namespace doppio {

// Thread-safe.
class WaitingList {
 public:
  using Received = RequestServer<ElasticRequest>::Received;

  // Adds a process. If it waits already, the new connection replaces the one before.
  void Add(Received received) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = Find(received.request.number);
    if (known != waiting_.end()) waiting_.erase(known);
    waiting_.push_back(std::move(received));
  }
  // Returns the connection of a process, which then no longer waits. The socket is closed if the
  // process does not wait.
  Socket Release(uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = Find(number);
    if (found == waiting_.end()) return Socket();
    Socket socket = std::move(found->socket);
    waiting_.erase(found);
    return socket;
  }
  // Removes the processes that have closed their connections. Calls ends(const Received&) once for
  // each of the others, and removes it if that returns true.
  template <class F>
  void Prune(const F& ends) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto is_over = [&](const Received& one) {
      char nothing;
      const ssize_t count = recv(one.socket.get(), &nothing, 1, 0);
      return count >= 0 || (errno != EAGAIN && errno != EINTR) || ends(one);
    };
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), is_over), waiting_.end());
  }

  // Returns the requests of the processes that have not closed their connections.
  std::vector<ElasticRequest> Requests() {
    std::vector<ElasticRequest> requests;
    Prune([&](const Received& one) {
      requests.push_back(one.request);
      return false;
    });
    return requests;
  }
  // Returns the number of newcomers.
  int newcomers() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int>(std::count_if(
        waiting_.begin(), waiting_.end(),
        [](const Received& one) { return one.request.kind == ElasticRequest::kJoin; }));
  }

 private:
  // Requires mutex_.
  std::vector<Received>::iterator Find(uint64_t number) {
    return std::find_if(waiting_.begin(), waiting_.end(),
                        [&](const Received& one) { return one.request.number == number; });
  }

  mutable std::mutex mutex_;
  std::vector<Received> waiting_;  // guarded by mutex_
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_WAITING_LIST_H_
