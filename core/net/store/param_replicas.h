// The replicas of parameters: a layer that several devices compute, each for other micro-batches,
// reads one value and has a gradient on each device.
#ifndef DOPPIO_CORE_NET_STORE_PARAM_REPLICAS_H_
#define DOPPIO_CORE_NET_STORE_PARAM_REPLICAS_H_

#include <vector>

#include "core/device/device.h"
#include "core/net/store/param.h"
#include "core/tensor/tensor.h"

namespace doppio {

// Owns the memory of replicas (Param::replicas). Not thread-safe.
class ParamReplicas {
 public:
  // Adds the bytes that Allocate will allocate on `device`, or on all devices if it is null, for
  // the parameters `added`, indices of `params`.
  static void AddBytes(const std::vector<int>& added, const std::vector<Param>& params,
                       const Device* device, ParamBytes* bytes);
  // Allocates zeroed memory for the replicas of the parameters `added`, which have memory.
  void Allocate(const std::vector<int>& added, std::vector<Param>* params);

  // Copies the values of parameters to the replicas that have copies. Call before forward.
  void CopyValues() const;
  // Adds the gradients of replicas to those of the parameters, in the order of the devices. The
  // devices must have finished backward.
  void AddGradients() const;
  // Returns true if no parameter has replicas with memory.
  bool empty() const { return memory_.empty(); }

 private:
  // The tensors that are copied and added between a parameter and one of its replicas.
  struct Exchange {
    Device* device;  // of the parameter
    Device* replica_device;
    Tensor value, replica_value;  // replica_value.raw is null if the value is shared
    Tensor grad, replica_grad;    // raw is null if the parameter has no gradient
    void* incoming;               // receives replica_grad; null if the host's memory is shared
  };

  std::vector<Buffer> memory_;
  std::vector<Exchange> exchanges_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_PARAM_REPLICAS_H_
