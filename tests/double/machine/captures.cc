// Captures streams into graphs and rejects calls that a capture does not allow.
#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/queues.h"

namespace doppio::gpu_double {
namespace {

thread_local cudaStreamCaptureMode t_mode = cudaStreamCaptureModeGlobal;

void AddTails(std::vector<int>* tails, const std::vector<int>& more) {
  tails->insert(tails->end(), more.begin(), more.end());
  std::sort(tails->begin(), tails->end());
  tails->erase(std::unique(tails->begin(), tails->end()), tails->end());
}

// Returns true if every captured node is, or comes before, a tail of the origin.
bool AllJoined(const Capture& capture) {
  std::vector<bool> reached(capture.plan.nodes.size());
  std::vector<int> todo = capture.origin->tails;
  while (!todo.empty()) {
    const int node = todo.back();
    todo.pop_back();
    if (reached[static_cast<size_t>(node)]) continue;
    reached[static_cast<size_t>(node)] = true;
    const std::vector<int>& needs = capture.plan.nodes[static_cast<size_t>(node)].needs;
    todo.insert(todo.end(), needs.begin(), needs.end());
  }
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}

void Leave(const std::shared_ptr<Capture>& capture) {
  for (const auto& stream_lane : capture->lanes) {
    stream_lane.first->capture = nullptr;
    stream_lane.first->tails.clear();
  }
  capture->ended = true;
  TheMachine().captures.erase(capture);
}

cudaError_t Begin(Stream* stream, cudaStreamCaptureMode mode) {
  if (stream->legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture != nullptr) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ++TheMachine().captured;
  capture->lanes[stream] = 0;
  stream->capture = capture;
  stream->tails.clear();
  TheMachine().captures.insert(capture);
  return cudaSuccess;
}

cudaError_t End(Stream* stream, cudaGraph_t* graph) {
  *graph = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->origin != stream) {
    return Invalidate(capture, cudaErrorStreamCaptureUnmatched);
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return Invalidate(capture, cudaErrorStreamCaptureWrongThread);
  }
  const bool joined = capture->invalid || AllJoined(*capture);
  Leave(capture);
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  capture->plan.lanes = static_cast<int>(capture->lanes.size());
  auto* made = new Graph;
  made->plan = std::make_shared<Plan>(std::move(capture->plan));
  TheMachine().handles.insert(made);
  *graph = reinterpret_cast<cudaGraph_t>(made);
  return cudaSuccess;
}

}  // namespace

cudaError_t Invalidate(const std::shared_ptr<Capture>& capture, cudaError_t error) {
  capture->invalid = true;
  return error;
}

cudaError_t ForbidHere() {
  if (t_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (const std::shared_ptr<Capture>& capture : TheMachine().captures) {
    const bool mine = capture->thread == std::this_thread::get_id();
    const bool counts =
        (mine && capture->mode != cudaStreamCaptureModeRelaxed) ||
        (capture->mode == cudaStreamCaptureModeGlobal && t_mode == cudaStreamCaptureModeGlobal);
    if (counts) error = Invalidate(capture, cudaErrorStreamCaptureUnsupported);
  }
  return error;
}

cudaError_t AddToCapture(Stream* stream, std::shared_ptr<const Task> task) {
  Capture& capture = *stream->capture;
  if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
  Node node;
  node.task = std::move(task);
  node.needs = stream->tails;
  node.lane = capture.lanes[stream];
  const int index = static_cast<int>(capture.plan.nodes.size());
  for (int need : node.needs) capture.plan.nodes[static_cast<size_t>(need)].users.push_back(index);
  capture.plan.nodes.push_back(std::move(node));
  stream->tails = {index};
  return cudaSuccess;
}

cudaError_t JoinCapture(Stream* stream, Event* event) {
  if (stream->capture != nullptr) {
    if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
    // Also covers events that were never recorded, for which CUDA's behaviour is not documented.
    if (event->capture == nullptr || event->capture->ended) {
      return Invalidate(stream->capture, cudaErrorStreamCaptureIsolation);
    }
    if (event->capture != stream->capture) {
      event->capture->invalid = true;
      return Invalidate(stream->capture, cudaErrorStreamCaptureMerge);
    }
  } else {
    if (event->capture->ended) return cudaErrorCapturedEvent;
    if (event->capture->invalid) return cudaErrorStreamCaptureInvalidated;
    if (stream->legacy) return Invalidate(event->capture, cudaErrorStreamCaptureImplicit);
    stream->capture = event->capture;
    stream->tails.clear();
    const int lane = static_cast<int>(stream->capture->lanes.size());
    stream->capture->lanes.emplace(stream, lane);
  }
  AddTails(&stream->tails, event->tails);
  return cudaSuccess;
}

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return Call([&](Lock&) {
    Stream* stream = FindStream(handle);
    if (const cudaError_t error = ErrorOf(stream->device)) return error;
    return Begin(stream, mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return Call([&](Lock&) { return End(FindStream(handle), graph); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return Call([&](Lock&) {
    const Stream* stream = FindStream(handle);
    *status = stream->capture == nullptr ? cudaStreamCaptureStatusNone
              : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                         : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, t_mode);
  return cudaSuccess;
}

}  // extern "C"

}  // namespace doppio::gpu_double
