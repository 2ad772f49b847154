// The parameters of a net's layers, and which of them layers share by name.
#ifndef DOPPIO_CORE_NET_GRAPH_PARAM_TABLE_H_
#define DOPPIO_CORE_NET_GRAPH_PARAM_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"

namespace doppio {

// Fills Graph::params, layer by layer. One table for one graph.
class ParamTable {
 public:
  // Adds the parameters of a node, whose shape is known, to the node and the graph. Throws
  // UserError.
  void Add(int index, Graph* graph);

 private:
  struct Mults {
    bool lr, decay;  // true if a user has set the multiplier
  };
  void Share(const LayerSpec& spec, int i, const Shape& shape, int id, Graph* graph);

  std::map<std::string, int> with_params_;  // node of each layer with parameters, by name
  std::map<std::string, int> by_share_name_;
  std::vector<Mults> has_mults_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_PARAM_TABLE_H_
