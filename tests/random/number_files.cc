// Lists of HDF5 files with named data sets: numbers.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/text/split_at.h"
#include "core/net/store/hdf5_blobs.h"
#include "tests/random/tiny_images.h"

namespace doppio {
namespace {

// A data set: NAME:KIND:LOW:HIGH:SHAPE.
struct NumberSet {
  std::string name, kind;
  double low = 0, high = 1;
  std::vector<int64_t> row;  // the shape of a row
  int64_t count = 1;         // numbers of a row
  uint32_t batch = 1;        // regions: the indices are below it
};

NumberSet ReadNumberSet(const std::string& text) {
  const std::vector<std::string> parts = SplitAt(text, ':');
  if (parts.size() != 4 && parts.size() != 5)
    throw FileError("'" + text + "' is not NAME:KIND:LOW:HIGH:SHAPE");
  NumberSet set;
  set.name = parts[0];
  set.kind = parts[1];
  set.low = std::strtod(parts[2].c_str(), nullptr);
  set.high = std::strtod(parts[3].c_str(), nullptr);
  for (const std::string& extent : SplitAt(parts.size() == 5 ? parts[4] : "", 'x')) {
    set.row.push_back(std::strtoll(extent.c_str(), nullptr, 10));
    set.count *= set.row.back();
  }
  const std::string regions = "regions";
  if (set.kind.compare(0, regions.size(), regions) == 0 && set.kind != regions) {
    set.batch = static_cast<uint32_t>(std::strtoul(&set.kind[regions.size()], nullptr, 10));
    set.kind = regions;
  }
  return set;
}

// Draws the numbers of a data set.
class SetNumbers {
 public:
  SetNumbers(const NumberSet& set, uint64_t seed)
      : set_(set), random_(seed, Stream("numbers", set.name)) {}

  // Appends row `row`. Throws FileError for an unknown kind.
  void Append(int64_t row, std::vector<float>* values) const {
    static const auto* const kinds = new std::map<std::string, Fill>{
        {"uniform", &SetNumbers::Uniform}, {"whole", &SetNumbers::Whole},
        {"marks", &SetNumbers::Marks},     {"boxes", &SetNumbers::Boxes},
        {"regions", &SetNumbers::Regions},
    };
    const auto kind = kinds->find(set_.kind);
    if (kind == kinds->end()) throw FileError("no kind of numbers is called '" + set_.kind + "'");
    const size_t begin = values->size();
    values->resize(begin + static_cast<size_t>(set_.count));
    (this->*kind->second)(static_cast<uint64_t>(row), values->data() + begin);
  }

 private:
  using Fill = void (SetNumbers::*)(uint64_t row, float* to) const;

  float Between(double low, double high, uint64_t row, int64_t at) const {
    const double unit = static_cast<double>(random_.Uniform(row, static_cast<uint64_t>(at)));
    return static_cast<float>(low + (high - low) * unit);
  }
  float WholeBetween(double low, double high, uint64_t row, int64_t at) const {
    const auto count = static_cast<uint32_t>(high - low) + 1;
    return static_cast<float>(low + random_.Below(count, row, static_cast<uint64_t>(at)));
  }

  void Uniform(uint64_t row, float* to) const {
    for (int64_t i = 0; i < set_.count; ++i) to[i] = Between(set_.low, set_.high, row, i);
  }
  void Whole(uint64_t row, float* to) const {
    for (int64_t i = 0; i < set_.count; ++i) to[i] = WholeBetween(set_.low, set_.high, row, i);
  }
  // Row 0 begins all sequences.
  void Marks(uint64_t row, float* to) const {
    constexpr uint32_t kSteps = 5;  // of a sequence, on average
    for (int64_t i = 0; i < set_.count; ++i) {
      const bool first = row == 0 || random_.Below(kSteps, row, static_cast<uint64_t>(i)) == 0;
      to[i] = first ? 0.0f : 1.0f;
    }
  }
  // Boxes in [0, 1).
  void Boxes(uint64_t row, float* to) const {
    for (int64_t i = 0; i + 4 <= set_.count; i += 4) {
      for (int64_t axis = 0; axis < 2; ++axis) {
        const float first = Between(0, 0.75, row, i + 2 * axis);
        to[i + axis] = first;
        to[i + axis + 2] = first + Between(0.03125, 0.25, row, i + 2 * axis + 1);
      }
    }
  }
  void Regions(uint64_t row, float* to) const {
    for (int64_t i = 0; i + 5 <= set_.count; i += 5) {
      to[i] = static_cast<float>(random_.Below(set_.batch, row, static_cast<uint64_t>(i)));
      for (int64_t axis = 1; axis <= 2; ++axis) {
        const float a = WholeBetween(set_.low, set_.high, row, i + axis);
        const float b = WholeBetween(set_.low, set_.high, row, i + axis + 2);
        to[i + axis] = std::min(a, b);
        to[i + axis + 2] = std::max(a, b);
      }
    }
  }

  const NumberSet& set_;
  const Random random_;
};

void WriteNumbers(const DataName& name, const std::string& aside, const std::string& folder) {
  std::vector<NumberSet> sets;
  for (const std::string& text : SplitAt(name.sets, ';')) sets.push_back(ReadNumberSet(text));
  std::string lines;
  int64_t first = 0;
  for (size_t i = 0; i < name.files.size(); ++i) {
    const std::string number = name.files.size() == 1 ? "" : "." + std::to_string(i);
    const std::string file = name.stem() + number + ".h5";
    const int64_t rows = name.files[i];
    Hdf5BlobWriter writer(aside + "/" + file);
    for (const NumberSet& set : sets) {
      const SetNumbers numbers(set, name.seed);
      std::vector<float> values;
      for (int64_t row = 0; row < rows; ++row) numbers.Append(first + row, &values);
      Shape shape{rows};
      for (const int64_t extent : set.row) shape.push_back(extent);
      writer.Blob(set.name, shape, values.data());
    }
    writer.Close();
    // HDF5Data has no root_folder, so the list names its files with their folder.
    lines += folder + "/" + file + "\n";
    first += rows;
  }
  WriteBytes(aside + "/" + name.text, lines);
}

DOPPIO_REGISTER(DataKinds, "numbers", {{".txt"}, &WriteNumbers});

}  // namespace
}  // namespace doppio
