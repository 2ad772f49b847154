// The blobs and parameters of a LiveNet, as scripts see them.
#ifndef DOPPIO_PYTHON_NET_BLOBS_H_
#define DOPPIO_PYTHON_NET_BLOBS_H_

#include <memory>
#include <string>

#include "python/blob.h"
#include "python/live_net.h"

namespace doppio {

// Return a blob, or parameter `index` of a node. Both keep `net` alive, and follow it when it is
// planned again.
std::shared_ptr<Blob> BlobOf(const std::shared_ptr<LiveNet>& net, const std::string& name);
std::shared_ptr<Blob> ParamOf(const std::shared_ptr<LiveNet>& net, int node, int index);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_NET_BLOBS_H_
