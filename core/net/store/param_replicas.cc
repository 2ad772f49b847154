#include "core/net/store/param_replicas.h"

#include <algorithm>
#include <map>

#include "core/math/tensor_ops.h"

namespace doppio {
namespace {

bool HasCopy(const Param& param, const ParamReplica& replica) {
  return !replica.device->properties.host_memory || !param.trainable;
}

// Returns the bytes that each device needs to receive the gradients of replicas that other devices
// have, one after the other. Devices that share the host's memory need none.
std::map<Device*, int64_t> IncomingBytes(const std::vector<int>& added,
                                         const std::vector<Param>& params) {
  std::map<Device*, int64_t> incoming;
  for (int i : added) {
    const Param& p = params[i];
    if (p.replicas.empty() || !p.gradient || p.device->properties.host_memory) continue;
    int64_t& bytes = incoming[p.device];
    bytes = std::max(bytes, p.value.bytes());
  }
  return incoming;
}

}  // namespace

void ParamReplicas::AddBytes(const std::vector<int>& added, const std::vector<Param>& params,
                             const Device* device, ParamBytes* bytes) {
  for (int i : added) {
    const Param& p = params[i];
    for (const ParamReplica& replica : p.replicas) {
      if (device != nullptr && replica.device != device) continue;
      if (HasCopy(p, replica)) {
        bytes->values += p.value.bytes();
        bytes->replica_values += p.value.bytes();
        bytes->unpadded += p.shape.count() * ElementBytes(p.value.dtype);
      }
      if (!p.gradient) continue;
      bytes->grads += p.value.bytes();
      bytes->replica_grads += p.value.bytes();
    }
  }
  for (const auto& [receiver, size] : IncomingBytes(added, params))
    bytes->grads += device == nullptr || device == receiver ? size : 0;
}

void ParamReplicas::Allocate(const std::vector<int>& added, std::vector<Param>* params) {
  const auto allocate = [&](Device* device, int64_t bytes) {
    return memory_.emplace_back(device, bytes).data();
  };
  std::map<Device*, void*> incoming;
  for (const auto& [receiver, bytes] : IncomingBytes(added, *params))
    incoming[receiver] = allocate(receiver, bytes);
  for (int i : added) {
    Param& p = (*params)[i];
    for (ParamReplica& replica : p.replicas) {
      const int64_t bytes = p.value.bytes();
      Tensor copy(p.value, HasCopy(p, replica) ? allocate(replica.device, bytes) : nullptr);
      replica.value = copy ? copy : p.value;
      replica.grad = Tensor(p.value, p.gradient ? allocate(replica.device, bytes) : nullptr);
      exchanges_.push_back({p.device, replica.device, p.value, copy, p.grad, replica.grad,
                            p.gradient ? incoming[p.device] : nullptr});
    }
  }
}

void ParamReplicas::CopyValues() const {
  for (const Exchange& e : exchanges_) {
    if (!e.replica_value) continue;
    e.device->Synchronize();  // the update of the value
    e.replica_device->CopyFromPeer(e.device, e.replica_value.raw, e.value.raw, e.value.bytes());
  }
}

void ParamReplicas::AddGradients() const {
  for (const Exchange& e : exchanges_) {
    if (!e.replica_grad) continue;
    Tensor gradient = e.replica_grad;
    if (e.incoming != nullptr) {
      gradient.raw = e.incoming;
      e.device->CopyFromPeer(e.replica_device, gradient.raw, e.replica_grad.raw, gradient.bytes());
    }
    OpsOf(e.device).Add(e.grad, gradient, e.grad);
  }
}

}  // namespace doppio
