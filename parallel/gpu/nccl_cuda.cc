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

// This rank's handle of the communicator inside NCCL. The ranks end it together, but a rank that
// fails aborts it alone, which ends its kernels that wait for other ranks.
class NcclComm {
 public:
  // Collective. `device` and `place` must outlive the handle. Completes the device's work so far.
  NcclComm(Device* device, const LinkPlace& place) : device_(device), place_(place) {
    Nccl::UniqueId id{};
    if (place.control->rank() == 0) Check(nccl_.get_unique_id(&id), "creating an id");
    place.control->Broadcast(&id, sizeof id, 0);
    device->Synchronize();
    // All ranks must have come this far, because from here on they wait for each other inside NCCL.
    place.control->Barrier();
    GpuOf(device);  // makes the device current, because NCCL uses the current device for the rank
    OrAbort([&] { Join(id); });
  }
  // A rank that ends normally waits for the other ranks; a rank that fails does not.
  ~NcclComm() {
    if (!joined()) return;
    try {
      if (std::uncaught_exceptions() > exceptions_) throw PeerError("this rank fails");
      place_.meeting->Arrive();
      GpuOf(device_);
      if (!blocking_)
        Settle(nccl_.finalize(comm_), "leaving the other ranks",
               SecondsFromEnvironment(Limit::kNccl));
      nccl_.destroy(comm_);
    } catch (const std::exception&) {
      nccl_.abort(comm_);
    }
  }
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  // Returns false after an abort.
  bool joined() const { return comm_ != nullptr; }

  // Calls start(nccl, comm), which enqueues an exchange and returns NCCL's result, and blocks until
  // NCCL has enqueued it.
  template <class F>
  void Enqueue(const char* doing, const F& start) {
    const OnAllCores cores;  // NCCL may connect ranks and start threads only now
    Settle(start(nccl_, comm_), doing);
  }
  // Throws DeviceError or PeerError if an exchange has failed or this process has aborted it.
  void CheckExchange(const char* doing) const {
    place_.meeting->ThrowIfAborted();
    Nccl::Result state = Nccl::kSuccess;
    Check(nccl_.async_error(comm_, &state), doing);
    if (state != Nccl::kSuccess && state != Nccl::kInProgress) throw PeerError(Text(state, doing));
  }

  // Calls f(). If it throws, ends this rank's kernels that wait for other ranks before anything
  // waits for the GPU, such as freeing its memory.
  template <class F>
  void OrAbort(const F& f) {
    try {
      f();
    } catch (const std::exception& e) {
      const auto* error = dynamic_cast<const Error*>(&e);
      place_.meeting->Abort(StrCat("rank ", place_.control->rank(), " has failed: ",
                                   error == nullptr ? e.what() : error->message()));
      if (joined()) nccl_.abort(comm_);
      comm_ = nullptr;
      throw;
    }
  }

 private:
  // Sets comm_ early, so that an exception handler can abort the communicator.
  void Join(const Nccl::UniqueId& id) {
    constexpr const char* kDoing = "joining the ranks";
    const int rank = place_.control->rank(), size = place_.control->size();
    const OnAllCores cores;  // for the threads that NCCL starts
    if (nccl_.init_rank_config == nullptr || nccl_.finalize == nullptr) {
      Check(nccl_.init_rank(&comm_, size, id, rank), kDoing);
      return;
    }
    // A blocking call would wait for ever for a rank that never arrives.
    blocking_ = false;
    Nccl::Config config;
    config.blocking = 0;
    Check(nccl_.init_rank_config(&comm_, size, id, rank, &config), kDoing);
    Settle(Nccl::kInProgress, kDoing, SecondsFromEnvironment(Limit::kNccl));
  }

  // Blocks until the call that returned `result` has completed; a non-blocking communicator accepts
  // no other call before then. Throws DeviceError after `seconds`, if given.
  void Settle(Nccl::Result result, const char* doing, std::optional<double> seconds = {}) {
    Check(result, doing);
    const auto begun = std::chrono::steady_clock::now();
    for (int asked = 0; result == Nccl::kInProgress; ++asked) {
      place_.meeting->ThrowIfAborted();
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

  void Check(Nccl::Result result, const char* doing) const {
    if (result != Nccl::kSuccess && result != Nccl::kInProgress)
      throw DeviceError(Text(result, doing));
  }
  std::string Text(Nccl::Result result, const char* doing) const {
    const char* more = nccl_.last_error == nullptr ? nullptr : nccl_.last_error(comm_);
    return std::string("NCCL failed while ") + doing + " on " + device_->name() + ": " +
           nccl_.error_string(result) +
           (more == nullptr || *more == 0 ? "" : std::string(" (") + more + ")");
  }

  std::string LateText(const char* doing, double seconds) const {
    char limit[32];
    std::snprintf(limit, sizeof limit, "%g s", seconds);
    return StrCat("NCCL has not completed ", doing, " after ", limit, ": rank ",
                  place_.control->rank(), " of ", place_.control->size(), " on ", device_->name(),
                  " still waits for other ranks. Either a rank has not reached this point (see the "
                  "other ranks' logs), or the ranks cannot reach each other. NCCL_DEBUG=INFO logs "
                  "what NCCL does, NCCL_SOCKET_IFNAME selects the network interface, and "
                  "DOPPIO_NCCL_TIMEOUT sets the limit in seconds");
  }

  const Nccl& nccl_ = NcclLibrary();
  Device* const device_;
  const LinkPlace& place_;
  // Number of exceptions in flight at construction.
  const int exceptions_ = std::uncaught_exceptions();
  Nccl::Comm comm_ = nullptr;  // null before joining and after an abort
  bool blocking_ = true;       // true if calls of comm_ block until they have completed
};

class NcclEnd : public Communicator {
 public:
  NcclEnd(Device* device, const LinkPlace& place)
      : place_(place), stream_(device), word_(device, sizeof(float)), comm_(device, place_) {}

  int rank() const override { return place_.control->rank(); }
  int size() const override { return place_.control->size(); }
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
    comm_.OrAbort([&] {
      idle = !comm_.joined() || stream_.Idle();
      if (!idle) comm_.CheckExchange("summing");
      if (idle && started_ && comm_.joined()) place_.meeting->ThrowIfAborted();
    });
    if (idle && started_ && place_.moved) place_.moved(bucket_);
    started_ = started_ && !idle;
    return idle;
  }
  void ComputeAfterExchange() override { stream_.ComputeAfterExchange(); }
  bool WaitsOnDevice() const override { return true; }

  void Broadcast(void* data, int64_t bytes, int root) override {
    if (bytes == 0) return;
    Start("broadcasting", [&](const Nccl& nccl, Nccl::Comm comm) {
      return nccl.broadcast(data, data, bytes, Nccl::kBytes, root, comm, stream_.gpu().stream);
    });
    Finish("broadcasting");
  }
  void Barrier() override { AllReduce(word_.data(), 1, DType::kFloat32); }

  // The exchanging thread notices the abort and ends the kernels that the GPU waits in. Other
  // processes learn of it from their watch.
  void Abort(const std::string& why) override { place_.meeting->Abort(why); }

 private:
  void StartSum(void* data, int64_t count, DType dtype) {
    Start("summing", [&](const Nccl& nccl, Nccl::Comm comm) {
      return nccl.all_reduce(data, data, count, NcclTypeOf(dtype), Nccl::kSum, comm,
                             stream_.gpu().stream);
    });
  }

  // Starts an exchange, as NcclComm::Enqueue does. The stream may look idle until Enqueue returns.
  template <class F>
  void Start(const char* doing, const F& start) {
    if (!comm_.joined()) place_.meeting->ThrowIfAborted();
    if (place_.moved) place_.moved(bucket_);
    comm_.OrAbort([&] {
      stream_.FollowMark(bucket_);
      place_.meeting->ThrowIfAborted();
      comm_.Enqueue(doing, start);
    });
  }

  // Blocks until the started exchange is complete.
  void Finish(const char* doing) {
    comm_.OrAbort([&] {
      stream_.Wait([&] { comm_.CheckExchange(doing); });
      place_.meeting->ThrowIfAborted();
    });
    if (place_.moved) place_.moved(bucket_);
  }

  const LinkPlace place_;
  SideStream stream_;
  const Buffer word_;
  NcclComm comm_;  // ends before the stream and the memory that its kernels use
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
