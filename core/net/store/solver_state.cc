#include "core/net/store/solver_state.h"

#include <limits>

#include "core/base/content/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/net/store/hdf5_blobs.h"
#include "core/net/store/wire_file.h"

namespace doppio {
namespace {

// Attributes of the HDF5 format, so that its data sets are exactly Caffe's.
constexpr char kRunState[] = "run_state", kCrc[] = "crc";

constexpr char kDamaged[] = "it is damaged: its checksum does not match its content";

constexpr int64_t kCrcFieldBytes = 6;  // a tag of two bytes and the checksum

// The CRC-32C of the values in an HDF5 state. A sum over the file's bytes is not possible, because
// the HDF5 library decides their order.
class MeaningSum {
 public:
  void Add(const std::string& text) {
    Add(static_cast<int64_t>(text.size()));
    Add(text.data(), text.size());
  }
  void Add(int64_t number) { Add(&number, sizeof number); }
  void Add(const Shape& shape, const float* data) {
    for (int64_t dim : shape.dims()) Add(dim);
    Add(data, static_cast<size_t>(shape.count()) * sizeof(float));
  }
  std::string Bytes() const { return {reinterpret_cast<const char*>(&crc_), sizeof crc_}; }

 private:
  void Add(const void* data, size_t bytes) { crc_ = Crc32c(data, bytes, crc_); }

  uint32_t crc_ = 0;
};

SolverState WithoutHistory(const SolverSnapshot& snapshot) {
  SolverState state;
  state.set_iter(static_cast<int32_t>(snapshot.iter));
  state.set_learned_net(snapshot.learned_net);
  state.set_current_step(static_cast<int32_t>(snapshot.current_step));
  // Only policy "plateau" changes these two fields.
  if (snapshot.minimum_loss != state.minimum_loss()) state.set_minimum_loss(snapshot.minimum_loss);
  if (snapshot.iter_last_event != 0) {
    state.set_iter_last_event(static_cast<int32_t>(snapshot.iter_last_event));
  }
  *state.mutable_run_state() = snapshot.run_state;
  state.mutable_run_state()->set_summed(true);
  return state;
}

void Take(const SolverState& state, SolverSnapshot* snapshot) {
  snapshot->iter = state.iter();
  snapshot->learned_net = state.learned_net();
  snapshot->current_step = state.current_step();
  snapshot->minimum_loss = state.minimum_loss();
  snapshot->iter_last_event = state.iter_last_event();
  snapshot->run_state = state.run_state();
}

void WriteBinary(const std::string& path, const SolverSnapshot& snapshot,
                 const std::vector<Tensor>& history, Device* device) {
  WireWriter out(path);
  out.Raw(WithoutHistory(snapshot).SerializeAsString());
  for (const Tensor& tensor : history) {
    const HostFloats values(tensor, device);
    out.Blob(SolverState::kHistoryFieldNumber, tensor.shape, values.data());
  }
  SolverState last;
  last.set_crc(out.Sum().crc);
  out.Raw(last.SerializeAsString());
  out.Close();
}

// Throws FileError for a file of weights.
[[noreturn]] void RefuseWeights(const std::string& path) {
  const std::string weights = ".caffemodel";
  std::string state = path;
  const size_t at = state.rfind(weights);
  if (at != std::string::npos) state.replace(at, weights.size(), ".solverstate");
  const bool beside = state != path && FileExists(state);
  throw FileError("'", path, "' has the weights of a net, not the state of a training; ",
                  beside ? "the state is in '" + state +
                               "': pass that file to continue its training, or pass the weights "
                               "with --weights to start a new one"
                         : "pass weights with --weights; without the .solverstate that was written "
                           "with them, they start a new training");
}

SolverSnapshot ReadBinary(const std::string& path) {
  if (KindOfContent(ReadHead(path, kKindBytes)) == ContentKind::kNet) RefuseWeights(path);
  WireReader in(path, ".solverstate", ContentKind::kSolverState);
  SolverSnapshot snapshot;
  std::string others;
  while (const int field = in.Next()) {
    if (field == SolverState::kHistoryFieldNumber)
      snapshot.history.push_back(in.Blob());
    else
      in.CopyTo(&others);
  }
  SolverState state;
  if (!state.ParseFromString(others) || !state.has_iter()) in.Fail("it holds no iteration");
  if (state.run_state().summed() && !state.has_crc()) in.Fail("its end is missing");
  if (state.has_crc() && SumOf(path, kCrcFieldBytes).crc != state.crc()) in.Fail(kDamaged);
  Take(state, &snapshot);
  return snapshot;
}

MeaningSum SumWithoutHistory(const SolverSnapshot& snapshot, const std::string& ours) {
  MeaningSum sum;
  sum.Add(ours);
  sum.Add(snapshot.iter);
  sum.Add(snapshot.learned_net);
  sum.Add(snapshot.current_step);
  return sum;
}

void WriteHdf5(const std::string& path, const SolverSnapshot& snapshot,
               const std::vector<Tensor>& history, Device* device) {
  Hdf5BlobWriter out(path);
  const std::string ours = WithoutHistory(snapshot).SerializeAsString();
  MeaningSum sum = SumWithoutHistory(snapshot, ours);
  out.Int("/iter", snapshot.iter);
  out.Text("/learned_net", snapshot.learned_net);
  out.Int("/current_step", snapshot.current_step);
  out.Group("/history");
  for (size_t i = 0; i < history.size(); ++i) {
    const HostFloats values(history[i], device);
    out.Blob("/history/" + std::to_string(i), history[i].shape, values.data());
    sum.Add(history[i].shape, values.data());
  }
  out.RootBytes(kRunState, ours);
  out.RootBytes(kCrc, sum.Bytes());
  out.Close();
}

SolverSnapshot ReadHdf5(const std::string& path) {
  Hdf5BlobReader in(path, ".solverstate.h5");
  if (!in.Has("/iter") && in.Has("/data")) RefuseWeights(path);
  SolverSnapshot snapshot;
  SolverState state;
  const std::string ours = in.RootBytes(kRunState);
  if (!state.ParseFromString(ours)) in.Fail("its attribute 'run_state' is damaged");
  Take(state, &snapshot);
  snapshot.iter = in.Int("/iter");
  snapshot.current_step = in.Has("/current_step") ? in.Int("/current_step") : 0;
  snapshot.learned_net = in.Has("/learned_net") ? in.Text("/learned_net") : "";
  const size_t blobs = in.Children("/history").size();
  for (size_t i = 0; i < blobs; ++i) {
    snapshot.history.push_back(in.Blob("/history/" + std::to_string(i)));
  }
  MeaningSum sum = SumWithoutHistory(snapshot, ours);
  for (const PlainBlob& blob : snapshot.history) sum.Add(blob.shape, blob.data.data());
  const std::string crc = in.RootBytes(kCrc);
  if ((state.run_state().summed() || !crc.empty()) && crc != sum.Bytes()) in.Fail(kDamaged);
  return snapshot;
}

// Checks counts that are used to compute learning rates and to index samples, so that damaged
// counts cannot be used.
void CheckStateCounts(const std::string& path, const SolverSnapshot& snapshot) {
  constexpr int64_t kMaxIterations = std::numeric_limits<int32_t>::max();  // Caffe's limit
  constexpr int64_t kMaxSamples = int64_t{1} << 48;
  const auto check = [&path](const std::string& name, int64_t count, int64_t most) {
    if (count >= 0 && count <= most) return;
    throw FileError("'", path, "' is damaged: its ", name, " is ", count);
  };
  check("iteration", snapshot.iter, kMaxIterations);
  check("current_step", snapshot.current_step, kMaxIterations);
  check("iter_last_event", snapshot.iter_last_event, kMaxIterations);
  for (const RunState::DataPosition& data : snapshot.run_state.data()) {
    check("next_sample of '" + data.layer() + "'", data.next_sample(), kMaxSamples);
  }
}

}  // namespace

void WriteSolverState(const std::string& temporary, bool hdf5, const SolverSnapshot& snapshot,
                      const std::vector<Tensor>& history, Device* device) {
  DOPPIO_CHECK(snapshot.iter <= std::numeric_limits<int32_t>::max(), "Caffe counts in 32 bits");
  hdf5 ? WriteHdf5(temporary, snapshot, history, device)
       : WriteBinary(temporary, snapshot, history, device);
}

SolverSnapshot ReadSolverState(const std::string& path) {
  SolverSnapshot snapshot =
      IsHdf5(path) || EndsWith(path, ".h5") ? ReadHdf5(path) : ReadBinary(path);
  CheckStateCounts(path, snapshot);
  if (snapshot.run_state.has_iter() && snapshot.run_state.iter() != snapshot.iter) {
    throw FileError("'", path, "' contradicts itself: iteration ", snapshot.iter,
                    ", but the run's state is of iteration ", snapshot.run_state.iter());
  }
  return snapshot;
}

}  // namespace doppio
