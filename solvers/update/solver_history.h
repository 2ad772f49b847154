// The history of a solver's rule (momentum, Adam's moments): one arena per slot of the rule, in the
// layout of the parameters. The last slot has the averages of the weights, if the solver keeps them
// (WeightAverage). If ranks divide the update, a rank's arenas hold its own share only.
#ifndef DOPPIO_SOLVERS_UPDATE_SOLVER_HISTORY_H_
#define DOPPIO_SOLVERS_UPDATE_SOLVER_HISTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/net/contract/communicator.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/store/params.h"
#include "proto/solver.pb.h"
#include "solvers/update/apply.h"

namespace doppio {

// A division of the update among ranks, as one rank sees it.
struct SharedUpdate {
  const UpdateShares* shares = nullptr;  // null: every rank updates all parameters
  Communicator* control = nullptr;       // sums small numbers in host memory over the ranks
};

// The whole history for a snapshot: the blobs and, if ranks divide it, their memory.
struct WholeHistory {
  std::vector<std::vector<char>> memory;
  // In Caffe's order: the first slot of every learnable parameter, then the second slot of every
  // one. On the device of the parameters.
  std::vector<Tensor> blobs;
};

// Not thread-safe. The arguments must outlive it.
class SolverHistory {
 public:
  // Allocates zeroed memory for the slots of the rule that `param` names. Must be constructed after
  // the store's Allocate. Ranks that divide the update compute on the host.
  SolverHistory(ParamStore* params, const SolverParameter& param, const SharedUpdate& shared);

  // The elements that this rank updates: its share and all parameters without a gradient, or all.
  const std::vector<UpdateRange>& ranges() const { return ranges_; }
  // Returns the arenas of the store's first arena of parameters, one per slot, then those of the
  // second. If ranks divide the update, an arena holds this rank's share; otherwise it is laid out
  // like the parameters' values.
  std::vector<Tensor> arenas() const;
  int slots() const { return slots_; }  // with that of the averages
  bool averages() const { return slots_ > rule_slots_; }
  // Returns the bytes of the rank with the largest share.
  int64_t largest_bytes() const;

  // Returns the blobs. If the ranks divide the history, the call is collective, copies it to rank 0
  // through `bulk`, and returns nothing on all other ranks.
  WholeHistory Gather(Communicator* bulk) const;
  // Replaces the history of the rule, or this rank's share, with `blobs`. With `averaged`, one more
  // slot follows in `blobs`: the weights of the training, which ImportValues takes. Throws
  // FileError naming `file` if the number or the sizes of the blobs do not match the parameters, or
  // if values are negative that the rule cannot have made so.
  void Import(const std::vector<PlainBlob>& blobs, const std::string& file, bool averaged = false);
  // Replaces the values of the parameters with the last slot of `blobs`, which Import has accepted.
  void ImportValues(const std::vector<PlainBlob>& blobs);

 private:
  // Returns the elements of the arenas for `share`; fills `*ranges`.
  int64_t Place(const std::vector<ArenaRange>& share, std::vector<UpdateRange>* ranges) const;
  void CheckBlobs(const std::vector<PlainBlob>& blobs, const std::string& file,
                  bool averaged) const;
  void CheckSquares(const std::vector<PlainBlob>& blobs, const std::string& file) const;
  void Write(const PlainBlob& blob, const Param& param, size_t slot);
  void GatherSlot(size_t slot, char* whole, Communicator* bulk) const;
  // Returns the memory of an element of the values, which must be in a range of this rank.
  char* At(size_t slot, int64_t element) const;
  // Returns the history of a parameter that ranks do not divide.
  char* Whole(size_t slot, const Param& param) const;
  int64_t element_bytes() const { return ElementBytes(params_->dtype()); }

  ParamStore* const params_;
  const std::string rule_;  // its name
  const UpdateShares* const shares_;
  int64_t unshared_begin_ = 0;  // parameters from this element on have no gradient
  std::vector<UpdateRange> ranges_;
  const int rule_slots_, slots_;
  std::vector<Buffer> arenas_;  // see arenas()
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_SOLVER_HISTORY_H_
