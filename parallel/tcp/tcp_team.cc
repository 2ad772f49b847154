#include "parallel/tcp/tcp_team.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/tensor/half.h"
#include "parallel/reduce/texts.h"

namespace doppio {
namespace {

// Ranks connect to lower ranks first, so a rank may have to wait for a chain of others.
constexpr double kCallSeconds = 60, kAnswerCallsSeconds = 65;
constexpr int kPollMs = 100;                       // how soon a wait notices an abort
constexpr int64_t kTreeBytes = 8192;               // largest sum along the tree
constexpr int64_t kPieceBytes = int64_t{1} << 20;  // what a rank sends in one step

class TcpTeam : public Team {
 public:
  TcpTeam(int rank, std::vector<RankSocket> peers) : rank_(rank), peers_(std::move(peers)) {
    for (const RankSocket& peer : peers_) {
      const int on = 1;
      if (peer.socket.open())
        setsockopt(peer.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }

  void AllReduce(void* data, int64_t count, DType dtype) override {
    const int64_t bytes = ElementBytes(dtype);
    Exchange([&] {
      if (count * bytes <= kTreeBytes || count < size()) return SumByTree(data, count, dtype);
      const int64_t piece = size() * (kPieceBytes / bytes);
      for (int64_t begin = 0; begin < count; begin += piece) {
        SumByRing(static_cast<char*>(data) + begin * bytes, std::min(piece, count - begin), dtype);
      }
    });
  }

  void Broadcast(void* data, int64_t bytes, int root) override {
    Exchange([&] {
      // Children forward a piece while they receive the next one.
      for (int64_t begin = 0; begin < bytes; begin += kPieceBytes)
        Spread(static_cast<char*>(data) + begin, std::min(kPieceBytes, bytes - begin), root);
    });
  }

  void Barrier() override {
    float nothing = 0;
    AllReduce(&nothing, 1, DType::kFloat32);
  }

 private:
  // Bytes to move between this rank and another one.
  struct Move {
    int peer;
    char* data;
    int64_t bytes;
  };

  template <class F>
  void Exchange(const F& f) {
    ThrowIfAborted();
    Moved();
    if (size() > 1) f();
    Moved();
  }

  // Adds along a binomial tree to rank 0: rank r receives from r + 1, r + 2, r + 4, ... up to the
  // lowest bit that is set in r, and then sends its sum.
  void SumByTree(void* data, int64_t count, DType dtype) {
    const int64_t bytes = count * ElementBytes(dtype);
    scratch_.resize(std::max(scratch_.size(), static_cast<size_t>(bytes)));
    int bit = 1;
    for (; bit < size() && (rank_ & bit) == 0; bit <<= 1) {
      if (rank_ + bit >= size()) continue;
      Transfer({0, nullptr, 0}, {rank_ + bit, scratch_.data(), bytes});
      Add(scratch_.data(), data, count, dtype);
    }
    if (rank_ != 0) Transfer({rank_ - bit, static_cast<char*>(data), bytes}, {0, nullptr, 0});
    Spread(static_cast<char*>(data), bytes, 0);
  }

  // Copies root's data along a binomial tree.
  void Spread(char* data, int64_t bytes, int root) {
    const int place = (rank_ - root + size()) % size();
    const auto rank_at = [&](int at) { return (at + root) % size(); };
    int bit = 1;
    while (bit < size() && (place & bit) == 0) bit <<= 1;
    if (place != 0) Transfer({0, nullptr, 0}, {rank_at(place - bit), data, bytes});
    for (bit >>= 1; bit > 0; bit >>= 1) {
      if (place + bit < size()) Transfer({rank_at(place + bit), data, bytes}, {0, nullptr, 0});
    }
  }

  // Part i travels around the ring from rank i + 1 to rank i, which adds last and so has the sum.
  // Then the sums travel around the ring once more.
  void SumByRing(char* data, int64_t count, DType dtype) {
    const int n = size(), right = (rank_ + 1) % n, left = (rank_ + n - 1) % n;
    const int64_t bytes = ElementBytes(dtype);
    const auto part = [&](int peer, int index) {
      const int i = (index % n + n) % n;
      const int64_t begin = count * i / n, end = count * (i + 1) / n;
      return Move{peer, data + begin * bytes, (end - begin) * bytes};
    };
    scratch_.resize(std::max(scratch_.size(), static_cast<size_t>((count / n + 1) * bytes)));
    for (int step = 1; step < n; ++step) {
      const Move in = part(left, rank_ - step - 1);
      Transfer(part(right, rank_ - step), {left, scratch_.data(), in.bytes});
      Add(scratch_.data(), in.data, in.bytes / bytes, dtype);
    }
    for (int step = 0; step < n - 1; ++step)
      Transfer(part(right, rank_ - step), part(left, rank_ - step - 1));
  }

  static void Add(const void* from, void* to, int64_t count, DType dtype) {
    DispatchReal(dtype, [&](auto zero) {
      using T = decltype(zero);
      using Sum = ComputeType<T>;
      const T* a = static_cast<const T*>(from);
      T* b = static_cast<T*>(to);
      for (int64_t i = 0; i < count; ++i)
        b[i] = static_cast<T>(static_cast<Sum>(b[i]) + static_cast<Sum>(a[i]));
    });
  }

  // Sends and receives at once, so that no two ranks wait for each other's full buffers.
  void Transfer(Move out, Move in) {
    while (true) {
      Step(&out, [](int fd, char* data, int64_t n) { return send(fd, data, n, MSG_NOSIGNAL); });
      Step(&in, [](int fd, char* data, int64_t n) { return recv(fd, data, n, 0); });
      if (out.bytes == 0 && in.bytes == 0) return;
      pollfd waits[2];
      nfds_t count = 0;
      if (out.bytes > 0) waits[count++] = {peers_[out.peer].socket.get(), POLLOUT, 0};
      if (in.bytes > 0) waits[count++] = {peers_[in.peer].socket.get(), POLLIN, 0};
      if (poll(waits, count, kPollMs) == 0) ThrowIfAborted();
    }
  }

  // Moves as many bytes as possible without waiting.
  template <class F>
  void Step(Move* move, const F& f) const {
    while (move->bytes > 0) {
      const ssize_t count = f(peers_[move->peer].socket.get(), move->data, move->bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) ThrowLost(peers_[move->peer], count == 0 ? "" : std::strerror(errno));
      move->data += count;
      move->bytes -= count;
    }
  }

  [[noreturn]] void ThrowLost(const RankSocket& peer, const std::string& why) const {
    ThrowIfAborted();
    throw PeerError("the connection to rank " + std::to_string(peer.rank) + " on " + peer.host +
                    (why.empty() ? " was closed" : " failed: " + why));
  }

  const int rank_;
  const std::vector<RankSocket> peers_;  // by rank; this rank's own socket is closed
  std::vector<char> scratch_;
};

}  // namespace

std::unique_ptr<Team> MakeTcpTeam(int rank, const std::vector<RankDoor>& doors,
                                  const std::vector<int>& names, const Socket& listening) {
  const int size = static_cast<int>(doors.size());
  const std::string host = GetText(doors[rank].host);
  const auto name = [&](int r) {
    return "rank " + std::to_string(names[r]) + " on " + GetText(doors[r].host);
  };
  std::vector<RankSocket> peers(size);
  for (int r = 0; r < rank; ++r) {
    peers[r].socket = Call(doors[r], rank, host, kCallSeconds);
    if (peers[r].socket.open()) continue;
    throw PeerError(name(rank) + " cannot reach " + name(r) + " at " + doors[r].Where() +
                    "; check for a firewall between them, or name another network with "
                    "--interface");
  }
  for (RankSocket& caller :
       AnswerCalls(listening, doors[rank].token, rank + 1, size, kAnswerCallsSeconds))
    peers[caller.rank].socket = std::move(caller.socket);
  for (int r = 0; r < size; ++r) {
    peers[r].rank = names[r];
    peers[r].host = GetText(doors[r].host);
    if (r != rank && !peers[r].socket.open())
      throw PeerError(name(r) + " has not reached " + name(rank) + " at " + doors[rank].Where());
  }
  return std::make_unique<TcpTeam>(rank, std::move(peers));
}

}  // namespace doppio
