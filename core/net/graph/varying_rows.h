// Rows whose number only the data tells: Filter keeps some of the rows of its bottoms, and other
// ones in every pass. Shapes and memory are planned before, so its tops have room for all rows; the
// first ones are those that were kept. The rows behind them repeat one of these, so that layers
// which treat each row by itself (the table in varying_rows.cc) need not know. Losses leave them
// out: they register as RowCounters, ask how many rows count, and give the others no gradient.
// Whatever else reads such a blob is refused.
#ifndef DOPPIO_CORE_NET_GRAPH_VARYING_ROWS_H_
#define DOPPIO_CORE_NET_GRAPH_VARYING_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/registry.h"
#include "core/net/graph/graph.h"

namespace doppio {

struct VaryingRows {
  std::vector<int> of_edge;     // the node that decides how many of its rows count; -1: all do
  std::vector<int> counted_by;  // for each node: likewise, of its bottoms, where it must know
};

// Throws UserError for the first layer that can do nothing with such rows.
VaryingRows FindVaryingRows(const Graph& graph);

// What a kernel is that decides how many rows count.
class RowMaker {
 public:
  virtual ~RowMaker() = default;
  // Of its last Forward; the same address for its life.
  virtual const int64_t* rows() const = 0;
};

// What a layer says that can leave rows out, beside its LayerType.
struct RowCounter {
  // The first axis that it mixes; null: behind the first one for sure.
  int (*axis)(const LayerParameter& layer) = nullptr;
  // Throws spec.Mistake where this one cannot; `what` begins the message and names the blob. May be
  // null.
  void (*check)(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                const std::string& what) = nullptr;
};
using RowCounters = Registry<RowCounter>;

// What the plain kernels of these layers are, on the host.
class RowReader {
 public:
  virtual ~RowReader() = default;
  void FollowRows(const int64_t* rows) { rows_ = rows; }

 protected:
  bool rows_vary() const { return rows_ != nullptr; }
  // How many of all `rows` count in this pass.
  int64_t RowsThatCount(int64_t rows) const { return rows_vary() ? *rows_ : rows; }

 private:
  const int64_t* rows_ = nullptr;
};

// Tells the kernels that count rows where their number stands. One for each node, null for views.
void ConnectRows(const VaryingRows& rows, const std::vector<Kernel*>& kernels);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_VARYING_ROWS_H_
