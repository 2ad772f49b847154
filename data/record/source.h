// A data set: a fixed number of records with random access. Shuffling, sharding and resuming rely
// on nothing else, so every format is opened such that any index can be read directly.
//
// Each format has its own file, which registers a SourceType under the name of the backend in
// data_param.
#ifndef DOPPIO_DATA_RECORD_SOURCE_H_
#define DOPPIO_DATA_RECORD_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/base/registry.h"
#include "data/record/record.h"
#include "proto/preprocessing.pb.h"
#include "proto/state.pb.h"

namespace doppio {

class DataParameter;

// The size of a source that draws its records at random without end, such as OpenWindows. Such a
// source has no epochs.
constexpr int64_t kEndless = int64_t{1} << 62;

// Facts about all images of a source. Weight files store them.
struct SourceFacts {
  Preprocessing::Channels channels = Preprocessing::AS_IN_DATA;
  // The shape of the first image as the source delivers it; unknown extents are 0.
  ImageShape image;
  // False if images differ in height or width.
  bool one_size = true;
  // How the records are decoded; nullopt if they are planes.
  std::optional<DecodeOptions> decode;
  std::vector<std::string> class_names;  // indexed by label; empty if unknown
};

// Const methods may be called from several threads at once.
class Source {
 public:
  virtual ~Source() = default;
  // Returns the number of records, at least 1.
  virtual int64_t size() const = 0;
  // Returns true if Read() decodes images itself, so that reading with several threads pays off.
  virtual bool decodes() const { return false; }
  // Reads record `index` into `record`. Thread-safe. Memory that the record points to is valid
  // while the source lives and until the next read into the same record. Throws FileError that
  // describes the defect but does not name the record; callers add Name(index).
  virtual void Read(int64_t index, Record* record) const = 0;
  // Returns the labels of record `index`. Thread-safe. Throws as Read does.
  virtual std::vector<float> LabelsOf(int64_t index) const {
    Record record;
    Read(index, &record);
    return record.labels;
  }
  // Reads record `index` as sample `sample` of the run. Sources that change records at random
  // derive the random numbers from `sample`.
  virtual void ReadSample(int64_t index, uint64_t /*sample*/, Record* record) const {
    Read(index, record);
  }
  // Draws the changes that move pixels, and which record is read, from `random` from now on. Must
  // not be called while a thread reads. Sources without such changes ignore it.
  virtual void Join(const Random& /*random*/) {}
  // Sources of one kind and size draw the same records from equal random numbers. "" for sources
  // with epochs.
  virtual std::string kind() const { return ""; }
  // Returns the record's name for messages, such as "record '00000007' of 'mnist_train_lmdb'".
  virtual std::string Name(int64_t index) const = 0;
  // Returns the facts that the format or files next to it provide. Callers use FactsOf instead.
  // Throws FileError.
  virtual SourceFacts facts() const { return {}; }
};

// The facts about a source that is missing or not opened.
struct DeclaredFacts {
  SourceFacts facts;
  bool sure = true;  // false if the images can have another shape than `facts.image`
};

struct SourceType {
  // Opens the source that `parameter` names, for a net of the given phase. Throws FileError,
  // UserError.
  std::unique_ptr<Source> (*open)(const DataParameter& parameter, Phase phase);
  bool needs_source = true;  // data_param must set `source`
  // Returns the facts that hold for every source with these parameters, or usually. Throws
  // UserError. Null if there are none.
  DeclaredFacts (*declare)(const DataParameter& parameter) = nullptr;
};
// The types by backend name, such as "LMDB" or "IDX", which is a value of DataParameter::DB.
using Sources = Registry<SourceType>;

// SourceType::open of the class T.
template <class T>
std::unique_ptr<Source> OpenAs(const DataParameter& parameter, Phase phase) {
  return std::make_unique<T>(parameter, phase);
}

}  // namespace doppio

#endif  // DOPPIO_DATA_RECORD_SOURCE_H_
