// Kernels that read the samples of a data source, or count them.
#ifndef DOPPIO_CORE_NET_CONTRACT_SAMPLE_SOURCE_H_
#define DOPPIO_CORE_NET_CONTRACT_SAMPLE_SOURCE_H_

#include <cstdint>
#include <string>

#include "core/net/contract/kernel.h"

namespace doppio {

// Interface of the kernels of sources. Capability<SampleSource>(kernel) finds it.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  // Returns the global index of rank 0's next sample, which is the same on all ranks and is saved
  // in snapshots. Returns -1 if the layer has no position.
  virtual int64_t position() const = 0;
  // Makes `sample` rank 0's next sample.
  virtual void Seek(int64_t sample) = 0;
  // Between two passes: prepares the batch of the next Forward, if possible while the device
  // computes. That Forward must get an equal `pass`, except for `step`. Stage does not change
  // position(); Seek discards the batch; the next Forward throws an error that occurs here. Has no
  // effect if Forward does all the work itself, or if a batch is already prepared.
  virtual void Stage(const Pass& /*pass*/) {}
  // Returns the number of samples in the source, or 0 if it has no end.
  virtual int64_t source_size() const { return 0; }
  // Returns the total time in seconds that Forward has waited for data.
  virtual double wait_seconds() const { return 0; }
  // Returns the number of distinct records skipped so far because they are unusable.
  virtual int64_t bad_records() const { return 0; }
  // Returns the name of sample `sample` for messages, such as "row 4 of 'a.h5'", or "" if the
  // samples have no names.
  virtual std::string NameOfSample(int64_t /*sample*/) const { return ""; }
};

// Returns the source that the kernel reads, or null if it reads none or has no position in it.
inline SampleSource* SourceOf(Kernel* kernel) {
  auto* const source = Capability<SampleSource>(kernel);
  return source != nullptr && source->position() >= 0 ? source : nullptr;
}

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_SAMPLE_SOURCE_H_
