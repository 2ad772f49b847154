// Connects ranks in GPU memory, one GPU each, by NCCL. The ranks are threads of one process, or
// processes on several machines. The control communicator distributes NCCL's unique id.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/device/kind_cuda.h"
#include "parallel/gpu/device_link.h"
#include "parallel/gpu/nccl_api_cuda.h"
#include "parallel/gpu/side_stream_cuda.h"
#include "parallel/meeting/limits.h"

namespace doppio {
namespace {

Nccl::Type NcclTypeOf(DType dtype) {
  if (dtype == DType::kFloat16) return Nccl::kFloat16;
  if (dtype == DType::kBFloat16) return Nccl::kBFloat16;
  if (dtype == DType::kFloat64) return Nccl::kFloat64;
  DOPPIO_CHECK(dtype == DType::kFloat32, Name(dtype));
  return Nccl::kFloat32;
}

class NcclEnd : public Communicator {
 public:
  NcclEnd(Device* device, const LinkPlace& place)
      : nccl_(NcclLibrary()),
        rank_(place.control->rank()),
        size_(place.control->size()),
        meeting_(place.meeting),
        moved_(place.moved),
        exceptions_(std::uncaught_exceptions()),
        stream_(device),
        word_(device, sizeof(float)) {
    Nccl::UniqueId id{};
    if (rank_ == 0) Check(nccl_.get_unique_id(&id), "creating an id");
    place.control->Broadcast(&id, sizeof id, 0);
    device->Synchronize();  // waits until word_ is zeroed
    // All ranks must have come this far, because from here on they wait for each other inside NCCL.
    place.control->Barrier();
    stream_.gpu();  // makes the device current, because NCCL uses the current device for the rank
    try {
      Join(id);
    } catch (const std::exception& e) {
      GiveUp(e);
      throw;
    }
  }

  // A rank that ends normally waits for the other ranks; a rank that fails does not.
  ~NcclEnd() override {
    if (comm_ == nullptr) return;
    try {
      if (std::uncaught_exceptions() > exceptions_) throw PeerError("this rank fails");
      meeting_->Arrive();
      stream_.gpu();
      if (!blocking_)
        Settle(nccl_.finalize(comm_), "leaving the other ranks",
               SecondsFromEnvironment(Limit::kNccl));
      nccl_.destroy(comm_);
    } catch (const std::exception&) {
      nccl_.abort(comm_);
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void SetBucket(int64_t bucket) override { bucket_ = bucket; }
  void ExchangeAfterCompute(int64_t bucket) override { stream_.Mark(bucket); }

  void AllReduce(void* data, int64_t count, DType dtype) override {
    if (count == 0) return;
    StartSum(data, count, dtype);
    Finish("summing");
  }
  // The only exchange that does not wait. ExchangesComplete, or the next call that waits, reports
  // failures.
  void StartAllReduce(void* data, int64_t count, DType dtype) override {
    if (count == 0) return;
    StartSum(data, count, dtype);
    started_ = true;
  }
  bool ExchangesComplete() override {
    bool idle = true;
    OrAbort([&] {
      idle = comm_ == nullptr || stream_.Idle();
      if (!idle) CheckExchange("summing");
      if (idle && started_ && comm_ != nullptr) meeting_->ThrowIfAborted();
    });
    if (idle && started_ && moved_) moved_(bucket_);
    started_ = started_ && !idle;
    return idle;
  }
  void ComputeAfterExchange() override { stream_.ComputeAfterExchange(); }
  bool WaitsOnDevice() const override { return true; }

  void Broadcast(void* data, int64_t bytes, int root) override {
    if (bytes == 0) return;
    Start("broadcasting", [&](cudaStream_t stream) {
      return nccl_.broadcast(data, data, bytes, Nccl::kBytes, root, comm_, stream);
    });
    Finish("broadcasting");
  }
  void Barrier() override { AllReduce(word_.data(), 1, DType::kFloat32); }

  // The exchanging thread notices the abort and ends the kernels that the GPU waits in. Other
  // processes learn of it from their watch.
  void Abort(const std::string& why) override { meeting_->Abort(why); }

 private:
  // Sets comm_ early, so that an exception handler can abort the communicator.
  void Join(const Nccl::UniqueId& id) {
    constexpr const char* kDoing = "joining the ranks";
    const OnAllCores cores;  // for the threads that NCCL starts
    if (nccl_.init_rank_config == nullptr || nccl_.finalize == nullptr) {
      Check(nccl_.init_rank(&comm_, size_, id, rank_), kDoing);
      return;
    }
    // A blocking call would wait for ever for a rank that never arrives.
    blocking_ = false;
    Nccl::Config config;
    config.blocking = 0;
    Check(nccl_.init_rank_config(&comm_, size_, id, rank_, &config), kDoing);
    Settle(Nccl::kInProgress, kDoing, SecondsFromEnvironment(Limit::kNccl));
  }

  // Blocks until the call that returned `result` has completed; a non-blocking communicator accepts
  // no other call before then. Throws DeviceError after `seconds`, if given.
  void Settle(Nccl::Result result, const char* doing, std::optional<double> seconds = {}) {
    Check(result, doing);
    const auto begun = std::chrono::steady_clock::now();
    for (int asked = 0; result == Nccl::kInProgress; ++asked) {
      meeting_->ThrowIfAborted();
      Check(nccl_.async_error(comm_, &result), doing);
      if (result == Nccl::kRemoteError) throw PeerError(Text(result, doing));
      Check(result, doing);
      if (result != Nccl::kInProgress) break;
      if (seconds && SecondsSince(begun) > *seconds) throw DeviceError(LateText(doing, *seconds));
      constexpr int kOften = 100;
      const timespec pause = {0, asked < kOften ? 5'000 : 200'000};
      nanosleep(&pause, nullptr);
    }
  }

  template <class F>
  void Start(const char* doing, const F& start) {
    if (comm_ == nullptr) meeting_->ThrowIfAborted();
    if (moved_) moved_(bucket_);
    OrAbort([&] {
      stream_.FollowMark(bucket_);
      meeting_->ThrowIfAborted();
      const OnAllCores cores;  // NCCL may connect ranks and start threads only now
      // The stream may look idle until the call has completed.
      Settle(start(stream_.gpu().stream), doing);
    });
  }

  void StartSum(void* data, int64_t count, DType dtype) {
    Start("summing", [&](cudaStream_t stream) {
      return nccl_.all_reduce(data, data, count, NcclTypeOf(dtype), Nccl::kSum, comm_, stream);
    });
  }

  // Blocks until the started exchange is complete.
  void Finish(const char* doing) {
    OrAbort([&] {
      stream_.Wait([&] { CheckExchange(doing); });
      meeting_->ThrowIfAborted();
    });
    if (moved_) moved_(bucket_);
  }

  void CheckExchange(const char* doing) const {
    meeting_->ThrowIfAborted();
    Nccl::Result state = Nccl::kSuccess;
    Check(nccl_.async_error(comm_, &state), doing);
    if (state != Nccl::kSuccess && state != Nccl::kInProgress) throw PeerError(Text(state, doing));
  }

  template <class F>
  void OrAbort(const F& f) {
    try {
      f();
    } catch (const std::exception& e) {
      GiveUp(e);
      throw;
    }
  }

  // Ends this rank's kernels that wait for other ranks. Call it before anything waits for the GPU,
  // such as freeing its memory.
  void GiveUp(const std::exception& e) {
    const auto* error = dynamic_cast<const Error*>(&e);
    meeting_->Abort(
        StrCat("rank ", rank_, " has failed: ", error == nullptr ? e.what() : error->message()));
    if (comm_ != nullptr) nccl_.abort(comm_);
    comm_ = nullptr;
  }

  void Check(Nccl::Result result, const char* doing) const {
    if (result != Nccl::kSuccess && result != Nccl::kInProgress)
      throw DeviceError(Text(result, doing));
  }
  std::string Text(Nccl::Result result, const char* doing) const {
    const char* more = nccl_.last_error == nullptr ? nullptr : nccl_.last_error(comm_);
    return std::string("NCCL failed while ") + doing + " on " + stream_.device()->name() + ": " +
           nccl_.error_string(result) +
           (more == nullptr || *more == 0 ? "" : std::string(" (") + more + ")");
  }

  std::string LateText(const char* doing, double seconds) const {
    char limit[32];
    std::snprintf(limit, sizeof limit, "%g s", seconds);
    return StrCat("NCCL has not completed ", doing, " after ", limit, ": rank ", rank_, " of ",
                  size_, " on ", stream_.device()->name(),
                  " still waits for other ranks. Either a rank has not reached this point (see the "
                  "other ranks' logs), or the ranks cannot reach each other. NCCL_DEBUG=INFO logs "
                  "what NCCL does, NCCL_SOCKET_IFNAME selects the network interface, and "
                  "DOPPIO_NCCL_TIMEOUT sets the limit in seconds");
  }

  const Nccl& nccl_;
  const int rank_, size_;
  const std::shared_ptr<Meeting> meeting_;
  const std::function<void(int64_t)> moved_;
  const int exceptions_;  // number of exceptions in flight at construction
  SideStream stream_;
  const Buffer word_;
  Nccl::Comm comm_ = nullptr;  // null before joining and after an abort
  bool blocking_ = true;       // true if calls of comm_ block until they have completed
  int64_t bucket_ = -1;
  bool started_ = false;  // true after StartAllReduce until ExchangesComplete returns true
};

std::string DescribeNccl() { return "NCCL " + NcclVersion() + " (" + NcclLibrary().path + ")"; }

std::unique_ptr<Communicator> ConnectNccl(Device* device, const LinkPlace& place) {
  return std::make_unique<NcclEnd>(device, place);
}

DOPPIO_REGISTER(DeviceLinks, LinkName(kCudaKind, "nccl"),
                DeviceLink{&DescribeNccl, &ConnectNccl, nullptr});

}  // namespace
}  // namespace doppio
