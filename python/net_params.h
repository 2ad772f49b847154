// The parameters of a net, as scripts load, save and share them.
#ifndef DOPPIO_PYTHON_NET_PARAMS_H_
#define DOPPIO_PYTHON_NET_PARAMS_H_

#include <string>

#include "core/net/run/net.h"

namespace doppio {

// The parameters in the store of a net that its layers use. `net` must outlive this object. Not
// thread-safe.
class NetParams {
 public:
  explicit NetParams(Net* net) : net_(*net) {}

  // Reads weights for layers with the same names. Throws FileError.
  void Load(const std::string& path) const;
  // Writes the weights, with their gradients if `diffs` is true, as HDF5 or as a binary net.
  void Save(const std::string& path, bool hdf5, bool diffs) const;
  // Sets all gradients to zero.
  void ClearGradients() const;

  // Returns the `part`, which is &Param::value or &Param::grad, of parameter `index` of a node, in
  // the node's shape.
  Tensor Part(int node, int index, Tensor Param::*part) const;

  // Throws UsageError unless a net like this one can use the parameters of `other`.
  void CheckCanUse(const Net& other) const;
  // Copies the values of parameters that have the store's index `first` or a later one to `next`, a
  // net of the same graph over another store, which has these indices.
  void CopyTo(const Net& next, int first) const;

 private:
  Param& Of(const Net& net, size_t param) const {
    return net.params().param(net.plan().param_index[param]);
  }

  Net& net_;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_NET_PARAMS_H_
