// Weight files: .caffemodel of every Caffe since V0, and .caffemodel.h5. Only layer names, types,
// blobs and `preprocessing` are read from a file; the prototxt defines the architecture. Blobs are
// assigned to layers by name, as in Caffe. If a BatchNorm of NVCaffe has more blobs than its
// statistics (mean, variance and their factor), the other blobs are the factor and bias of the
// Scale layer that reads its top.
#ifndef DOPPIO_CORE_NET_STORE_WEIGHTS_H_
#define DOPPIO_CORE_NET_STORE_WEIGHTS_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/graph/graph.h"
#include "core/net/store/params.h"

namespace doppio {

// The blobs of one layer in a weight file.
struct LayerBlobs {
  std::string name;
  std::string type;  // as in the file: "Convolution", V1 "CONVOLUTION", V0 "conv"; empty for HDF5
  std::vector<PlainBlob> blobs;  // a blob missing from the file has shape {0}
};

// The trusted contents of a weight file.
struct WeightsFile {
  std::string path;
  bool hdf5 = false;  // an HDF5 file may omit parameters that another layer owns
  std::vector<LayerBlobs> layers;
  std::optional<Preprocessing> preprocessing;  // set if Doppio wrote the file
};

// The attribute of HDF5 files that holds a serialized Preprocessing.
constexpr char kPreprocessingAttribute[] = "preprocessing";
// The attribute of HDF5 files in which names of layers that begin with kEncodedMark are
// percent-encoded, because a path of HDF5 cannot keep them ("/conv", "a//b").
constexpr char kEncodedNames[] = "encoded_names", kEncodedMark = '%';

// Reads a weight file. The content decides between HDF5 and binary; names that end with ".prototxt"
// are text. Throws FileError if the file is missing, damaged or of another kind.
WeightsFile ReadWeights(const std::string& path);

// A parameter that two layers of a net share, but for which a weight file has different values.
struct SharedConflict {
  std::string parameter;    // its name in the net; may be empty
  std::string first, last;  // layers; the parameter has the values of `last`
};

// Weights of an inner product that a convolution takes, or the other way round.
struct ReshapedWeights {
  std::string layer;
  Shape in_file, in_net;
};

// The layers that CopyWeights has copied, ignored or not found.
struct WeightsReport {
  std::vector<std::string> copied;   // layers, in the file's order
  std::vector<std::string> ignored;  // layers with blobs that the net does not have
  // Layers with parameters that are not in the file. Their values do not change.
  std::vector<std::string> missing;
  std::vector<SharedConflict> conflicts;  // at most one for each parameter
  std::vector<ReshapedWeights> reshaped;
};

// Copies values to parameters that have memory. `param_index` is that of Plan. As in Caffe, a
// parameter of several layers gets the values of the layer that is last in the file. Throws
// UserErrors for all blobs that do not fit, and then copies nothing.
WeightsReport CopyWeights(const WeightsFile& file, const Graph& graph,
                          const std::vector<int>& param_index, ParamStore* params);
// Logs lines such as "Ignoring source layer fc8".
void LogReport(const WeightsReport& report, const std::string& path);

// The values to write to a weight file, one tensor per element of graph.params.
struct WeightTensors {
  std::vector<Tensor> values;
  std::vector<Tensor> diffs;  // gradients, absent for parameters without one; may be empty
  Device* device = nullptr;   // the tensors' device; null for plain floats on the host
};
// Returns the tensors of a store's parameters, with their gradients if `gradients` is true.
WeightTensors WeightsOf(const std::vector<int>& param_index, const ParamStore& params,
                        bool gradients);

// Writes the parameters and the preprocessing of `graph` to a file that the caller renames when it
// is complete. BVLC Caffe can read the file and ignores the preprocessing. Returns the file's size
// and checksum.
ContentSum WriteTemporaryWeights(const std::string& temporary, bool hdf5, const Graph& graph,
                                 const WeightTensors& weights);
// Writes a weight file atomically.
void WriteWeights(const std::string& path, bool hdf5, const Graph& graph,
                  const WeightTensors& weights);
// Writes the parameters of a run atomically. If `gradients` is true, writes the gradients as diffs.
void WriteWeights(const std::string& path, bool hdf5, const Graph& graph,
                  const std::vector<int>& param_index, const ParamStore& params,
                  bool gradients = false);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_WEIGHTS_H_
