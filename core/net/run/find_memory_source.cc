#include "core/net/run/find_memory_source.h"

#include "core/net/run/net.h"

namespace doppio {

MemorySource& FindMemorySource(const Net& net, const std::string& layer) {
  for (size_t i = 0; i < net.graph().nodes.size(); ++i) {
    const int node = static_cast<int>(i);
    const LayerSpec& spec = net.graph().layer(node);
    if (spec.name() != layer) continue;
    auto* const source = Capability<MemorySource>(net.plan().kernel(node));
    spec.RefuseIf(source == nullptr, "type", "does not take samples from a program");
    return *source;
  }
  throw UserError({}, "the net has no layer '", layer, "' that takes samples from a program");
}

}  // namespace doppio
