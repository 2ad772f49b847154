// Builds the layers of a net from the nodes of an ONNX model, one node after the other. A value of
// the model is a blob of the net or a constant. Shapes are Doppio's own: each new layer is inferred
// at once, so functions of later nodes know the shapes of their inputs.
//
// Models of Keras hold images with channels last, N x H x W x C, and transpose them around each
// convolution. The blobs have channels first all the time: such a value is the blob and a note, see
// ImportValue::turned_by, and a layer Permute is added only where a node needs the model's order.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_GRAPH_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_GRAPH_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/tensor/shape.h"
#include "proto/net.pb.h"
#include "proto/onnx.pb.h"
#include "tools/onnx_import/onnx_array.h"
#include "tools/onnx_import/sample_place.h"

namespace doppio {

// A value of the model.
struct ImportValue {
  std::string blob;    // "" for a constant
  Shape shape;         // the model's
  OnnxArray constant;  // if `blob` is ""
  // Zeros that a Pad node adds around the blob's spatial axes, at their starts and then at their
  // ends. Only values that just convolutions read have them, and the convolutions add them. Empty:
  // none.
  std::vector<int64_t> pads;
  // Not "": the value is N x H x W x C, but the blob N x C x H x W. The layer Permute that turns it
  // gets this name.
  std::string turned_by;
  SamplePlace samples;  // in the value's own order of axes

  bool is_constant() const { return blob.empty(); }
  bool turned() const { return !turned_by.empty(); }
};

// The order of axes that makes N x H x W x C of N x C x H x W, and the one that makes it back.
inline const std::vector<int64_t> kChannelsLast = {0, 2, 3, 1}, kChannelsFirst = {0, 3, 1, 2};

// Returns the graph of a net whose layers hold weights. Throws UserError or an ErrorList if layers
// or weights do not fit.
Graph CheckShapes(const NetParameter& net);

// Returns the value whose shape is that of the blob.
ImportValue AsStored(ImportValue value);
// Returns the value N x H x W x C of the image `stored`, N x C x H x W.
ImportValue ChannelsLast(ImportValue stored, const std::string& layer);

class ImportGraph {
 public:
  // Begins a net with the name of the model's graph. `graph` must outlive this object.
  explicit ImportGraph(const onnx::GraphProto& graph, int opset);

  int opset() const { return opset_; }
  // Returns the number of nodes and outputs of the model that read `value`.
  int Readers(const std::string& value) const;
  // Returns true if these are all convolutions of the value or, with `turned`, of its transpose
  // with channels first.
  bool IsOnlyConvolved(const std::string& value, bool turned) const;

  // Returns the value, or null if no earlier node has computed it.
  const ImportValue* Find(const std::string& value) const;
  // Returns the value, in the model's order of axes. Adds a layer Permute if the blob has another.
  const ImportValue& InOrder(const std::string& value);
  void Set(const std::string& value, ImportValue content) { values_[value] = std::move(content); }
  // Sets a constant that the model holds. Throws FileError if all of them need too much memory.
  void SetStored(const std::string& value, OnnxArray constant);
  // Counts `bytes` of constants or weights that a node reads, computes or gives to a layer. Returns
  // false if the sum over all nodes is too large for the constants that the model holds: a few
  // bytes of nodes must not fill the memory.
  bool Spend(int64_t bytes);

  // Adds an Input layer for an input of the model; with `turned`, an image N x H x W x C, one for
  // N x C x H x W.
  void AddInput(const std::string& value, const Shape& shape, bool turned);
  // Adds `layer`, which has a type, parameters, weights and no names, behind the blobs `bottoms`.
  // Its name is `name` or, if that is taken, `name` with a number. It gets one top for each of
  // `tops`, which are wishes for names. Returns the tops. Throws UserError if the layer does not
  // fit.
  std::vector<ImportValue> Add(LayerParameter layer, const std::string& name,
                               const std::vector<ImportValue>& bottoms,
                               const std::vector<std::string>& tops);
  // Returns the layer that computes `blob`.
  LayerParameter* Producer(const std::string& blob);

  // Returns the net, with the weights in its layers.
  const NetParameter& net() const { return net_; }

 private:
  struct Names {
    std::set<std::string> taken;
    std::map<std::string, int> numbers;  // the next number behind a taken name

    // Takes `wish` or, if it is taken, `wish` with a number.
    std::string Unique(const std::string& wish);
  };

  const int opset_;
  NetParameter net_;
  int64_t stored_bytes_ = 0, spent_bytes_ = 0;
  std::map<std::string, int> readers_;
  std::map<std::string, int> convolutions_;         // nodes Conv by input 0
  std::map<std::string, int> turned_convolutions_;  // transposes that only nodes Conv read
  std::map<std::string, ImportValue> values_;
  std::map<std::string, ImportValue> permuted_;  // results of InOrder
  std::map<std::string, int> producers_;         // layer by blob
  Names layers_, blobs_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_IMPORT_GRAPH_H_
