#include "solvers/trainer/snapshot_writer.h"

#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "core/base/log.h"
#include "core/base/threads.h"

namespace doppio {
namespace {

constexpr size_t kHugePage = 2 << 20;

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Floats = std::unique_ptr<float[], Free>;

// Memory of a device would be cached forever, so this memory comes from the C library. It is not
// zeroed, because the threads that copy should touch each page first.
Floats AllocateFloats(int64_t count) {
  const size_t bytes = (static_cast<size_t>(count) * sizeof(float) / kHugePage + 1) * kHugePage;
  Floats memory(static_cast<float*>(std::aligned_alloc(kHugePage, bytes)));
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory.get(), bytes, MADV_HUGEPAGE);  // only a hint, so failure is harmless
  return memory;
}

// A private copy of a snapshot's contents in host memory.
class Copy {
 public:
  explicit Copy(const SnapshotContents& contents) : contents_(contents) {
    int64_t count = 0;
    ForTensors([&](Tensor* tensor) { count += Room(*tensor); });
    memory_ = AllocateFloats(count);
    float* place = memory_.get();
    ForTensors([&](Tensor* tensor) {
      ReadTensor(*tensor, contents.weights.device, place);
      *tensor = Tensor({tensor->shape, DType::kFloat32, Layout()}, place);
      place += Room(*tensor);
    });
    contents_.weights.device = nullptr;
  }

  const SnapshotContents& contents() const { return contents_; }

 private:
  static int64_t Room(const Tensor& tensor) { return (tensor.count() + 15) / 16 * 16; }

  template <class F>
  void ForTensors(const F& f) {
    for (auto* list : {&contents_.weights.values, &contents_.weights.diffs, &contents_.history}) {
      for (Tensor& tensor : *list) {
        if (tensor) f(&tensor);
      }
    }
  }

  SnapshotContents contents_;
  Floats memory_;
};

}  // namespace

SnapshotWriter::~SnapshotWriter() {
  try {
    Wait();
  } catch (const std::exception& e) {
    LOG(ERROR) << "the last snapshot could not be written: " << e.what();
  }
}

void SnapshotWriter::Write(const SnapshotContents& contents) {
  Wait();
  try {
    // The thread's stack owns the copy, so the memory is freed once the files are complete.
    writing_ = std::async(std::launch::async, [copy = std::make_unique<Copy>(contents)]() mutable {
      UseAllCores();
      const std::unique_ptr<Copy> mine = std::move(copy);
      WriteSnapshot(mine->contents());
    });
  } catch (const std::bad_alloc&) {
    WriteSnapshot(contents);
  } catch (const std::system_error&) {  // no thread is available
    WriteSnapshot(contents);
  }
}

bool SnapshotWriter::Check() {
  if (!writing_.valid()) return true;
  if (writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  writing_.get();
  return true;
}

void SnapshotWriter::Wait() {
  if (writing_.valid()) writing_.get();
}

}  // namespace doppio
