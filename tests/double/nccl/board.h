// The state that the ranks of one communicator share, as threads or as processes of one machine: a
// file in memory that the unique id names. Nothing remains when the processes have ended.
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

// The part of one rank. Counts are numbers of collectives.
struct RankSlot {
  std::atomic<int> process;  // 0 before the rank has joined; written after device and host
  std::atomic<int> left;     // 1 once the rank is done and no longer needs its process
  int device;
  uint64_t host;                   // from NCCL_HOSTID, which simulates machines
  std::atomic<int64_t> published;  // collectives whose call and data the rank has written
  std::atomic<int64_t> consumed;   // collectives whose result the rank has computed
  NcclCall call;                   // the last published call
};

class Board {
 public:
  // Writes the id of a new board to `*id`. The board can be opened while this process lives and has
  // not called CloseId.
  static void NewId(NcclId* id);
  // Returns null if no board has this id.
  static std::shared_ptr<Board> Open(const NcclId& id);
  // Makes the id invalid. Called when all ranks have opened the board, by any process, once or
  // more.
  void CloseId();
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  uint64_t number() const;  // random; the same for all ranks
  // The number of ranks; 0 until a rank has set it.
  std::atomic<int>& size();
  RankSlot& slot(int rank);

  // Write and read the data of a rank's last published call. Fault("nccl") if the file cannot hold
  // the data.
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
