// Blobs with a number of valid rows that varies from pass to pass. Filter keeps some rows of its
// bottoms, depending on the data. Shapes and memory are planned before the data is known, so the
// tops of Filter have room for all rows. The valid rows come first. The remaining rows repeat one
// of them, so that layers that treat each row independently (see LayerType::RowByRow) need no
// special case. Losses ignore the remaining rows: they register as RowCounters, read the number of
// valid rows, and give the remaining rows no gradient. The graph rejects all other layers that read
// such a blob.
#ifndef DOPPIO_CORE_NET_GRAPH_VARYING_ROWS_H_
#define DOPPIO_CORE_NET_GRAPH_VARYING_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/registry.h"
#include "core/net/graph/graph.h"

namespace doppio {

// The edges that have a varying number of valid rows, and the layers that read that number.
struct VaryingRows {
  // For each edge: the node that decides how many of its rows are valid, or -1 if all are.
  std::vector<int> of_edge;
  // For each node: the node that decides how many rows of its bottoms are valid, if the node has to
  // know that number; else -1.
  std::vector<int> counted_by;
};

// Finds the edges whose number of valid rows varies. Throws UserError for the first layer that
// cannot handle such an edge.
VaryingRows FindVaryingRows(const Graph& graph);

// Interface of kernels that decide how many rows are valid.
class RowCountSource {
 public:
  virtual ~RowCountSource() = default;
  // Points to the number of valid rows in the last Forward. The address does not change during the
  // kernel's life.
  virtual const int64_t* rows() const = 0;
};

// Registered, in addition to the LayerType, for a layer type that can ignore rows.
struct RowCounter {
  // Returns the first axis along which the layer combines values. Null if that axis is never the
  // first.
  int (*axis)(const LayerParameter& layer) = nullptr;
  // Throws spec.Mistake if this layer cannot ignore rows. `what` begins the message and names the
  // blob. May be null.
  void (*check)(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                const std::string& what) = nullptr;
};
using RowCounters = Registry<RowCounter>;

// Base class of the plain host kernels of layers that can ignore rows.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // Sets the address of the number of valid rows, which must outlive this object.
  void SetValidRows(const int64_t* rows) { rows_ = rows; }

 protected:
  bool rows_vary() const { return rows_ != nullptr; }
  // Returns how many of `rows` rows are valid in this pass.
  int64_t ValidRows(int64_t rows) const { return rows_vary() ? *rows_ : rows; }

 private:
  const int64_t* rows_ = nullptr;
};

// Gives each kernel that ignores rows the address of its number of valid rows. `kernels` has one
// element per node, null for views.
void ConnectRows(const VaryingRows& rows, const std::vector<std::unique_ptr<Kernel>>& kernels);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_VARYING_ROWS_H_
