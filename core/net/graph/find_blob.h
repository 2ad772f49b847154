// Finds a blob that a user names.
#ifndef DOPPIO_CORE_NET_GRAPH_FIND_BLOB_H_
#define DOPPIO_CORE_NET_GRAPH_FIND_BLOB_H_

#include <string>
#include <vector>

#include "core/net/graph/graph.h"

namespace doppio {

// Returns the names of the blobs in the order of the layers. Tops without a name are left out.
std::vector<std::string> BlobNames(const Graph& graph);

// Returns the last version of the blob `name`. Throws UsageError, with the nearest name, all
// names or the rule that leaves out its layer, if the net has no such blob.
const Edge& FindBlob(const Graph& graph, const std::string& name);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_FIND_BLOB_H_
