// The parameters of a run. All nets of a run (train and test) look up their parameters here by
// layer name, and so share them. params() has Caffe's order, which is the order of the layers.
#ifndef DOPPIO_CORE_NET_STORE_PARAMS_H_
#define DOPPIO_CORE_NET_STORE_PARAMS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/net/store/param.h"
#include "core/net/store/param_arenas.h"
#include "core/net/store/param_replicas.h"

namespace doppio {

// Owns the parameters of a run and their memory: on one device, unless a plan places layers on
// several devices that do not share the host's memory (SetDevice). Not thread-safe.
class ParamStore {
 public:
  ParamStore(Device* device, DType dtype, uint64_t seed)
      : dtype_(dtype), seed_(seed), arenas_(device, dtype) {}

  // Returns the store's index of each parameter in graph.params. Finds a parameter by layer name
  // and index, and adds the parameter if it is missing. Throws UserError if an existing parameter
  // has another shape.
  std::vector<int> Resolve(const Graph& graph);
  // Sets the device of a parameter that was added but not yet allocated. The default is the store's
  // device.
  void SetDevice(int param, Device* device);
  // Places the parameters added since the last Allocate, and returns the bytes they need. If
  // `gradients` is true, they are placed in the arenas (ParamArenas::Place), over which solvers
  // run; otherwise they are test-only parameters. Call Allocate next; until then the store cannot
  // be used.
  ParamBytes Place(bool gradients, const std::vector<int>& finish_order,
                   std::vector<Lifetime> lives = {});
  // Allocates memory for the placed parameters and, if `fill` is true, fills it with initial
  // values. Otherwise the memory is zero.
  void Allocate(bool fill = true);
  // Returns the bytes that Allocate will allocate on `device`, or on all devices if it is null, for
  // the arenas and replicas. `unpadded` leaves out the arenas.
  ParamBytes BytesToAllocate(const Device* device) const;

  const std::vector<Param>& params() const { return params_; }
  Param& param(int i) { return params_[i]; }
  Device* device() const { return arenas_[0].device; }
  DType dtype() const { return dtype_; }
  const ParamArenas& arenas() const { return arenas_; }
  const ParamReplicas& replicas() const { return replicas_; }
  // Returns the parameters in the arenas, in Caffe's order. Solvers update them, and snapshots save
  // their history.
  const std::vector<int>& learnable() const { return learnable_; }

 private:
  DType dtype_;
  uint64_t seed_;
  std::vector<Param> params_;
  std::map<std::pair<std::string, int>, int> by_layer_;
  std::vector<int> learnable_;
  std::vector<int> added_;  // parameters of the last Place
  ParamArenas arenas_;
  ParamReplicas replicas_;
  std::vector<Buffer> others_;  // the values of test-only parameters
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_PARAMS_H_
