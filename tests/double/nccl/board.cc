#include "tests/double/nccl/board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>

#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

// Returns the position of a rank's data in the file. The file is sparse, so unwritten bytes use no
// memory.
int64_t DataAt(int rank) { return (int64_t{rank} + 1) << 36; }

std::mutex g_mutex;
std::map<uint64_t, int> g_files;  // by board number; files that this process keeps open for its ids

}  // namespace

struct Board::Page {
  uint64_t number;
  std::atomic<int> size;
  RankSlot slots[kMostRanks];
};

void Board::NewId(NcclId* id) {
  std::random_device random;
  const uint64_t number = (uint64_t{random()} << 32) + random();
  const int file = memfd_create("nccl", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(Page)) != 0 ||
      pwrite(file, &number, sizeof number, 0) != sizeof number)
    Fault("nccl", "no memory for a unique id");
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->bytes, sizeof id->bytes, "%d %d %llx", static_cast<int>(getpid()), file,
                static_cast<unsigned long long>(number));
  std::lock_guard<std::mutex> lock(g_mutex);
  g_files[number] = file;
}

std::shared_ptr<Board> Board::Open(const NcclId& id) {
  int process = 0, file = 0;
  unsigned long long number = 0;
  const std::string text(id.bytes, strnlen(id.bytes, sizeof id.bytes));
  if (std::sscanf(text.c_str(), "%d %d %llx", &process, &file, &number) != 3) return nullptr;
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
  const int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) return nullptr;
  std::shared_ptr<Board> board(new Board(opened));
  return board->number() == number ? board : nullptr;
}

Board::Board(int file) : file_(file) {
  void* page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (page == MAP_FAILED) Fault("nccl", "no memory for a communicator");
  page_ = static_cast<Page*>(page);
}

Board::~Board() {
  munmap(page_, sizeof(Page));
  close(file_);
}

void Board::CloseId() {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto known = g_files.find(number());
  if (known == g_files.end()) return;
  close(known->second);
  g_files.erase(known);
}

uint64_t Board::number() const { return page_->number; }
std::atomic<int>& Board::size() { return page_->size; }
RankSlot& Board::slot(int rank) { return page_->slots[rank]; }

void Board::Write(int rank, const void* data, int64_t bytes) {
  const char* from = static_cast<const char*>(data);
  for (int64_t done = 0; done < bytes;) {
    const ssize_t n =
        pwrite(file_, from + done, static_cast<size_t>(bytes - done), DataAt(rank) + done);
    if (n <= 0) {
      Fault("nccl",
            "cannot store the data of rank " + std::to_string(rank) + ": " + std::strerror(errno));
    }
    done += n;
  }
}

std::vector<char> Board::Read(int rank, int64_t bytes) const {
  std::vector<char> data(static_cast<size_t>(bytes));
  for (int64_t done = 0; done < bytes;) {
    const ssize_t n =
        pread(file_, data.data() + done, static_cast<size_t>(bytes - done), DataAt(rank) + done);
    if (n <= 0) Fault("nccl", "the data of rank " + std::to_string(rank) + " is not complete");
    done += n;
  }
  return data;
}

}  // namespace doppio::gpu_double
