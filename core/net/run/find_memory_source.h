// Finds the layer of a net that reads the samples of the calling program.
#ifndef DOPPIO_CORE_NET_RUN_FIND_MEMORY_SOURCE_H_
#define DOPPIO_CORE_NET_RUN_FIND_MEMORY_SOURCE_H_

#include <string>

#include "core/net/contract/memory_source.h"

namespace doppio {

class Net;

// Returns the source of the MemoryData layer with this name. Throws UserError if no MemoryData
// layer has the name, or if the layer makes synthetic data.
MemorySource& FindMemorySource(const Net& net, const std::string& layer);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_FIND_MEMORY_SOURCE_H_
