// Weight files: .caffemodel of every Caffe since V0, and .caffemodel.h5. Of a file only layer
// names, types, blobs and `preprocessing` are trusted; the architecture is the prototxt's. Layers
// find their values by name, as in Caffe. Where a BatchNorm of NVCaffe has more blobs than its
// statistics (mean, variance, their weight), the others are factor and bias of the Scale that reads
// its top.
#ifndef DOPPIO_CORE_NET_STORE_WEIGHTS_H_
#define DOPPIO_CORE_NET_STORE_WEIGHTS_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/net/graph/graph.h"
#include "core/net/store/params.h"
#include "core/net/store/plain_blob.h"

namespace doppio {

struct LayerBlobs {
  std::string name;
  std::string type;  // as the file says: "Convolution", V1 "CONVOLUTION", V0 "conv"; HDF5 has none
  std::vector<PlainBlob> blobs;  // one that the file leaves out has shape {0}
};

struct WeightsFile {
  std::string path;
  bool hdf5 = false;  // it may leave out parameters that another layer owns
  std::vector<LayerBlobs> layers;
  std::optional<Preprocessing> preprocessing;  // where Doppio wrote the file
};

// Attribute of HDF5 files that holds a Preprocessing, serialized.
constexpr char kPreprocessingAttribute[] = "preprocessing";

// By content: HDF5 or binary; text where the name ends with ".prototxt". Throws FileError when the
// file is missing, damaged or of another kind.
WeightsFile ReadWeights(const std::string& path);

struct WeightsReport {
  std::vector<std::string> copied;   // layers, in the file's order
  std::vector<std::string> ignored;  // layers with blobs that the net has not
  // Layers with parameters that the file has not: they keep their values.
  std::vector<std::string> missing;
};

// Copies values into parameters that have memory; param_index as in Plan. Either everything fits or
// UserErrors say what does not (all at once) and nothing is copied.
WeightsReport CopyWeights(const WeightsFile& file, const Graph& graph,
                          const std::vector<int>& param_index, ParamStore* params);
// "Ignoring source layer fc8" and the like, as log lines.
void LogReport(const WeightsReport& report, const std::string& path);

// The numbers that go into a file of weights, for each of graph.params.
struct WeightTensors {
  std::vector<Tensor> values;
  std::vector<Tensor> diffs;  // empty, or the gradients, where there are any
  Device* device = nullptr;   // where they are; null: plain floats on the host
};
WeightTensors WeightsOf(const std::vector<int>& param_index, const ParamStore& params,
                        bool gradients);

// Writes the parameters of `graph` and its preprocessing, which BVLC Caffe passes over, as BVLC
// Caffe reads them, to a file that WriteWeights or the caller renames when it is complete.
ContentSum WriteWeightsAside(const std::string& temporary, bool hdf5, const Graph& graph,
                             const WeightTensors& weights);
// The same, atomically.
void WriteWeights(const std::string& path, bool hdf5, const Graph& graph,
                  const WeightTensors& weights);
// Those of a run; `gradients` adds them as diffs.
void WriteWeights(const std::string& path, bool hdf5, const Graph& graph,
                  const std::vector<int>& param_index, const ParamStore& params,
                  bool gradients = false);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_WEIGHTS_H_
