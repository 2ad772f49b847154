// What the ranks of one communicator share, whether they are threads or processes of this machine:
// a file in memory that the unique id names. Nothing of it is left when the processes have ended.
#ifndef DOPPIO_TESTS_DOUBLE_NCCL_BOARD_H_
#define DOPPIO_TESTS_DOUBLE_NCCL_BOARD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/double/nccl/api.h"
#include "tests/double/nccl/sums.h"

namespace doppio::gpu_double {

constexpr int kMostRanks = 64;

// A rank's part. Counts are of collectives.
struct RankSlot {
  std::atomic<int> process;  // 0 before the rank has joined; written after device and host
  std::atomic<int> left;     // 1 once it has ended its work and needs its process no longer
  int device;
  uint64_t host;                   // of NCCL_HOSTID, which plays machines
  std::atomic<int64_t> published;  // whose call and data the rank has written
  std::atomic<int64_t> consumed;   // whose result the rank has computed
  NcclCall call;                   // of the last one published
};

class Board {
 public:
  // Fills in an id that names a new board. The board can be opened while this process lives and
  // has not called CloseId.
  static void NewId(NcclId* id);
  // Null when the id names none.
  static std::shared_ptr<Board> Open(const NcclId& id);
  // When all ranks have opened the board. Any process may call it, once or more.
  void CloseId();
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  uint64_t number() const;  // random, the same for all ranks
  // Zero until a rank has set it.
  std::atomic<int>& size();
  RankSlot& slot(int rank);

  // The data of a rank's last published call. Fault("nccl") when the file cannot hold it.
  void Write(int rank, const void* data, int64_t bytes);
  std::vector<char> Read(int rank, int64_t bytes) const;

 private:
  struct Page;
  explicit Board(int file);
  const int file_;
  Page* page_;
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_NCCL_BOARD_H_
