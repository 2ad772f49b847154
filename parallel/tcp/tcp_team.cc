#include "parallel/tcp/tcp_team.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/tensor/half.h"
#include "parallel/meeting/texts.h"
#include "parallel/reduce/shares.h"

namespace doppio {
namespace {

// Ranks connect to lower ranks first, so a rank may have to wait for a chain of others.
constexpr double kAcceptLonger = 5;
constexpr int kPollMs = 100;                       // how soon a wait notices an abort
constexpr int64_t kTreeBytes = 8192;               // largest sum along the tree
constexpr int64_t kPieceBytes = int64_t{1} << 20;  // what a rank sends in one step

class TcpTeam : public Team {
 public:
  TcpTeam(int rank, std::vector<RankSocket> peers, double idle_seconds)
      : rank_(rank),
        idle_seconds_(idle_seconds),
        peers_(std::move(peers)),
        even_(peers_.size() + 1) {
    for (const RankSocket& peer : peers_) {
      const int on = 1;
      if (peer.socket.open())
        setsockopt(peer.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }

  void AllReduce(void* data, int64_t count, DType dtype) override {
    for (int r = 0; r <= size(); ++r) even_[r] = EvenCut(count, size(), r);
    Exchange([&] {
      if (ByTree(count, dtype)) return SumByTree(data, count, dtype);
      ForPieces(data, even_, dtype, [&](const auto& part) {
        ScatterSums(part, dtype);
        GatherParts(part);
      });
    });
  }

  // If all shares are even, the sums have the bits of AllReduce.
  void ReduceScatter(void* data, const std::vector<int64_t>& cuts, DType dtype) override {
    Exchange([&] {
      if (ByTree(cuts.back(), dtype)) return SumByTree(data, cuts.back(), dtype);
      ForPieces(data, cuts, dtype, [&](const auto& part) { ScatterSums(part, dtype); });
    });
  }

  void AllGather(void* data, const std::vector<int64_t>& cuts, DType dtype) override {
    Exchange([&] { ForPieces(data, cuts, dtype, [&](const auto& part) { GatherParts(part); }); });
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

  bool ByTree(int64_t count, DType dtype) const {
    return count * ElementBytes(dtype) <= kTreeBytes || count < size();
  }

  // Calls f(part) for one piece of all shares after the other. part(peer, i) returns the move to or
  // from `peer` of the piece of share i modulo size().
  template <class F>
  void ForPieces(void* data, const std::vector<int64_t>& cuts, DType dtype, const F& f) {
    const int64_t bytes = ElementBytes(dtype), most = kPieceBytes / bytes;
    int64_t longest = 0;
    for (int r = 0; r < size(); ++r) longest = std::max(longest, cuts[r + 1] - cuts[r]);
    for (int64_t done = 0; done < longest; done += most) {
      f([&](int peer, int index) {
        const int i = (index % size() + size()) % size();
        const int64_t begin = std::min(cuts[i] + done, cuts[i + 1]);
        const int64_t end = std::min(begin + most, cuts[i + 1]);
        return Move{peer, static_cast<char*>(data) + begin * bytes, (end - begin) * bytes};
      });
    }
  }

  int Right() const { return (rank_ + 1) % size(); }
  int Left() const { return (rank_ + size() - 1) % size(); }

  // Part i travels around the ring from rank i + 1 to rank i, which adds last and so has the sum.
  template <class Part>
  void ScatterSums(const Part& part, DType dtype) {
    scratch_.resize(std::max(scratch_.size(), static_cast<size_t>(kPieceBytes)));
    for (int step = 1; step < size(); ++step) {
      const Move in = part(Left(), rank_ - step - 1);
      Transfer(part(Right(), rank_ - step), {in.peer, scratch_.data(), in.bytes});
      Add(scratch_.data(), in.data, in.bytes / ElementBytes(dtype), dtype);
    }
  }

  // Part i travels around the ring from rank i to rank i - 1.
  template <class Part>
  void GatherParts(const Part& part) {
    for (int step = 0; step < size() - 1; ++step)
      Transfer(part(Right(), rank_ - step), part(Left(), rank_ - step - 1));
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
    double idle = 0;
    while (true) {
      const int64_t before = out.bytes + in.bytes;
      Step(&out, [](int fd, char* data, int64_t n) { return send(fd, data, n, MSG_NOSIGNAL); });
      Step(&in, [](int fd, char* data, int64_t n) { return recv(fd, data, n, 0); });
      if (out.bytes == 0 && in.bytes == 0) return;
      pollfd waits[2];
      nfds_t count = 0;
      if (out.bytes > 0) waits[count++] = {peers_[out.peer].socket.get(), POLLOUT, 0};
      if (in.bytes > 0) waits[count++] = {peers_[in.peer].socket.get(), POLLIN, 0};
      idle = before == out.bytes + in.bytes ? idle + kPollMs * 1e-3 : 0;
      if (poll(waits, count, kPollMs) != 0) continue;
      ThrowIfAborted();
      if (idle_seconds_ > 0 && idle > idle_seconds_ && !watched())
        ThrowLost(peers_[in.bytes > 0 ? in.peer : out.peer], "no answer");
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
    throw PeerError("the connection to rank ", peer.rank, " on ", peer.host,
                    why.empty() ? " was closed" : " failed: " + why);
  }

  const int rank_;
  const double idle_seconds_;
  const std::vector<RankSocket> peers_;  // by rank; this rank's own socket is closed
  std::vector<char> scratch_;
  std::vector<int64_t> even_;  // the even cuts of the current AllReduce
};

}  // namespace

std::unique_ptr<Team> MakeTcpTeam(int rank, const std::vector<RankListener>& listeners,
                                  const std::vector<int>& names, const Socket& listening,
                                  const TeamTimes& times) {
  const int size = static_cast<int>(listeners.size());
  const std::string host = GetText(listeners[rank].host);
  const auto name = [&](int r) {
    return "rank " + std::to_string(names[r]) + " on " + GetText(listeners[r].host);
  };
  std::vector<RankSocket> peers(size);
  for (int r = 0; r < rank; ++r) {
    peers[r].socket = ConnectToRank(listeners[r], rank, host, times.connect);
    if (peers[r].socket.open()) continue;
    throw PeerError(
        name(rank), " cannot reach ", name(r), " at ", listeners[r].Where(),
        "; check for a firewall between them, or name another network with --interface");
  }
  for (RankSocket& other :
       AcceptRanks(listening, listeners[rank].token, rank + 1, size, times.connect + kAcceptLonger))
    peers[other.rank].socket = std::move(other.socket);
  for (int r = 0; r < size; ++r) {
    peers[r].rank = names[r];
    peers[r].host = GetText(listeners[r].host);
    if (r != rank && !peers[r].socket.open())
      throw PeerError(name(r), " has not reached ", name(rank), " at ", listeners[rank].Where());
  }
  return std::make_unique<TcpTeam>(rank, std::move(peers), times.idle);
}

}  // namespace doppio
