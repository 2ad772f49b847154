// Weights that are written to a file of any format and read back are the same numbers, whatever the
// names of the layers are.
#include <cstring>

#include "core/net/store/weights.h"
#include "tests/random/array_readers.h"
#include "tests/random/layer_row.h"
#include "tests/random/new_names.h"
#include "tests/random/relation.h"
#include "tools/export/array_files.h"

namespace doppio {
namespace {

// The parameters of the train net as plain floats, in the order of the graph.
std::vector<PlainBlob> BlobsOf(Trainer* trainer) {
  const Net& net = trainer->train_net();
  std::vector<PlainBlob> blobs;
  for (size_t i = 0; i < net.graph().params.size(); ++i) {
    const Param& param =
        trainer->params()
            .params()[static_cast<size_t>(net.plan().param_index[static_cast<int>(i)])];
    blobs.push_back(ReadTensor(param.value, param.device));
  }
  return blobs;
}

// Equal bits, because NaN and -0 must survive, too.
bool SameBits(const float* a, const std::vector<float>& b) {
  return std::memcmp(a, b.data(), b.size() * sizeof(float)) == 0;
}

std::string CheckArrays(const std::string& format, const ReadArrays& read,
                        const std::vector<NamedArray>& written) {
  if (read.size() != written.size()) {
    return format + ": " + std::to_string(read.size()) + " arrays instead of " +
           std::to_string(written.size());
  }
  for (const NamedArray& array : written) {
    const auto found = read.find(array.name);
    if (found == read.end()) return format + ": no array " + array.name;
    if (found->second.shape != array.shape) return format + ": another shape of " + array.name;
    if (!SameBits(array.data, found->second.data))
      return format + ": other numbers of " + array.name;
  }
  return "";
}

// For programs other than Caffe.
std::string CheckExports(const Net& net, const std::vector<PlainBlob>& blobs,
                         const std::string& folder) {
  WeightTensors tensors;
  for (const PlainBlob& blob : blobs) {
    tensors.values.push_back(
        Tensor({blob.shape, DType::kFloat32, Layout()}, const_cast<float*>(blob.data.data())));
  }
  // A file has no bits of numbers that were divided by a weight of 0.
  const std::vector<NamedArray> arrays = NamedArrays(net.graph(), tensors);
  std::vector<NamedArray> archived = arrays;
  for (NamedArray& array : archived) array.name = ArchiveName(array.name);
  WriteNpz(folder + "/w.npz", archived);
  const std::string npz = CheckArrays("npz", ReadNpz(folder + "/w.npz"), archived);
  if (!npz.empty()) return npz;
  WriteSafetensors(folder + "/w.safetensors", arrays, net.graph().spec.name);
  return CheckArrays("safetensors", ReadSafetensors(folder + "/w.safetensors"), arrays);
}

// Returns what a training has lost that starts from `file` with the weights `written`.
std::string CheckStart(const RandomCase& random_case, const Way& way, const std::string& file,
                       const std::vector<PlainBlob>& written) {
  std::string why;
  Way start = way;
  start.weights = file;
  start.before = [&](Trainer* trainer) {
    const std::vector<PlainBlob> read = BlobsOf(trainer);
    for (size_t i = 0; i < read.size() && why.empty(); ++i) {
      if (read[i].shape != written[i].shape || !SameBits(read[i].data.data(), written[i].data))
        why = file + ": other numbers of " +
              ParamName(trainer->train_net().graph(), static_cast<int>(i));
    }
  };
  start.after = nullptr;
  const Outcome outcome = Run(random_case, start);
  return outcome.refused.empty() ? why : file + ": " + outcome.refused;
}

std::string CheckWeightsFormats(const RandomCase& random_case, Draw* draw,
                                const std::string& folder) {
  RandomCase named = random_case;
  if (draw->Chance(0.5)) GiveNewNames(draw, &named.net);
  Way way;
  way.folder = folder;
  std::vector<PlainBlob> written;
  std::string why;
  way.after = [&](Trainer* trainer) {
    const Net& net = trainer->train_net();
    for (const bool hdf5 : {false, true}) {
      WriteWeights(folder + (hdf5 ? "/w.caffemodel.h5" : "/w.caffemodel"), hdf5, net.graph(),
                   net.plan().param_index, trainer->params());
    }
    written = BlobsOf(trainer);
    why = CheckExports(net, written, folder);
  };
  const Outcome outcome = Run(named, way);
  if (!outcome.refused.empty()) {
    ++ProcessTally().refusals[outcome.refused];
    return "";
  }
  if (!why.empty()) return why;
  const RandomCase once = StartOf(named);
  for (const char* file : {"/w.caffemodel", "/w.caffemodel.h5"}) {
    why = CheckStart(once, way, folder + file, written);
    if (!why.empty()) return why;
  }
  return "";
}

DOPPIO_REGISTER(Relations, "weights_formats", {&CheckWeightsFormats, &Always});

}  // namespace
}  // namespace doppio
