// The replicas of parameters: a layer that several devices compute, each for other micro-batches,
// reads one value and has a gradient on each device.
#include <algorithm>

#include "core/math/tensor_ops.h"
#include "core/net/store/params.h"

namespace doppio {
namespace {

bool HasCopy(const Param& param, const ParamReplica& replica) {
  return !replica.device->host_memory() || !param.trainable;
}

}  // namespace

void ParamStore::SetReplicas(int param, const std::vector<Device*>& devices) {
  DOPPIO_CHECK(!placed(param), "the devices of a placed parameter are fixed");
  params_[param].replicas.assign(devices.size(), {});
  for (size_t i = 0; i < devices.size(); ++i) params_[param].replicas[i].device = devices[i];
}

// Sizes the memory for incoming gradients. Devices that share the host's memory need none.
void ParamStore::PlaceIncoming() {
  for (int i : added_) {
    const Param& p = param(i);
    if (p.replicas.empty() || !p.gradient || device_of(p)->host_memory()) continue;
    int64_t& bytes = arenas_[p.arena].incoming_bytes;
    bytes = std::max(bytes, p.value.bytes());
  }
}

// Adds the bytes of the new replicas on `device`, or on all devices if it is null.
void ParamStore::AddReplicaBytes(const Device* device, ParamBytes* bytes) const {
  for (int i : added_) {
    const Param& p = params_[i];
    for (const ParamReplica& replica : p.replicas) {
      if (device != nullptr && replica.device != device) continue;
      if (HasCopy(p, replica)) {
        bytes->values += p.value.bytes();
        bytes->replica_values += p.value.bytes();
        bytes->unpadded += p.shape.count() * ElementBytes(dtype_);
      }
      if (!p.gradient) continue;
      bytes->grads += p.value.bytes();
      bytes->replica_grads += p.value.bytes();
    }
  }
}

ParamBytes ParamStore::BytesToAllocate(const Device* device) const {
  ParamBytes bytes;
  for (const ParamArena& arena : arenas_) {
    if (arena.device != device || arena.values.data() != nullptr) continue;
    bytes.values += arena.size * ElementBytes(dtype_);
    bytes.grads += arena.grads_bytes + arena.incoming_bytes;
  }
  AddReplicaBytes(device, &bytes);
  return bytes;
}

void ParamStore::AllocateReplicas() {
  for (int i : added_) {
    Param& p = param(i);
    for (ParamReplica& replica : p.replicas) {
      const auto allocate = [&] {
        return replicas_.emplace_back(replica.device, p.value.bytes()).data();
      };
      replica.value = HasCopy(p, replica) ? Tensor(p.value, allocate()) : p.value;
      replica.grad = Tensor(p.value, p.gradient ? allocate() : nullptr);
    }
  }
}

void ParamStore::CopyToReplicas() const {
  for (const Param& p : params_) {
    for (const ParamReplica& replica : p.replicas) {
      if (!HasCopy(p, replica)) continue;
      device_of(p)->Synchronize();  // the update of the value
      replica.device->CopyFromPeer(device_of(p), replica.value.raw, p.value.raw, p.value.bytes());
    }
  }
}

void ParamStore::AddReplicaGradients() const {
  for (const Param& p : params_) {
    if (!p.gradient) continue;
    Device* const device = device_of(p);
    for (const ParamReplica& replica : p.replicas) {
      Tensor gradient = replica.grad;
      if (!device->host_memory()) {
        gradient.raw = arenas_[p.arena].incoming.data();
        device->CopyFromPeer(replica.device, gradient.raw, replica.grad.raw, gradient.bytes());
      }
      OpsOf(device).Add(p.grad, gradient, p.grad);
    }
  }
}

}  // namespace doppio
