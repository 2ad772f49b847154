// How to draw each source of data, and each rule and policy of a solver. The rows of sources are in
// tests/data/*_rows.cc, the other rows in tests/solvers/solver_rows.cc.
#ifndef DOPPIO_TESTS_RANDOM_SOURCE_ROW_H_
#define DOPPIO_TESTS_RANDOM_SOURCE_ROW_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/registry.h"
#include "tests/random/draw.h"
#include "tests/random/net_draft.h"

namespace doppio {

// The circumstances of a source.
struct SourceWish {
  std::string folder;             // of data files
  std::string phase;              // "" or "include { phase: TRAIN }"
  std::string name;               // of the layer
  std::vector<std::string> tops;  // names: the images or values, and usually the labels
  int64_t batch = 1;
  Shape sample;         // channels x height x width of the sample that the net gets
  int64_t classes = 5;  // of its labels
  int64_t records = 20;
};

// A source: "Data/LMDB", "ImageData", "HDF5Data", "DummyData", ...
struct SourceRow {
  // Returns the text of a layer that delivers `wish`, or "" if the source cannot (for example
  // WindowData if the sample is not square, or DIGITS if there are fewer than 10 classes). Draws
  // the fields of the layer and of its transform_param.
  std::string (*draw)(Draw* draw, const SourceWish& wish) = nullptr;
  // LayerRow::Trait. The order of the samples and their random changes depend on the name of the
  // layer. This is not a trait: relations that give new names keep those of sources.
  unsigned traits = 0;
  // What the tops after the first one hold.
  enum Labels {
    kPerSample,  // one label per sample, below `classes`
    kPerPixel,   // top 1: one label per pixel, N x 1 x H x W; top 2 (ImageSegData): N x 1 x 1 x 2
    kObjects,    // top 1: the objects of each image (BlobKind::kOther)
  } labels = kPerSample;
  int least_tops = 1, most_tops = 2;
  // The source has no epochs, so the solver needs test_iter and max_iter.
  bool endless = false;
};
using SourceRows = Registry<SourceRow>;

// A solver's rule ("Adam") or policy ("step"): returns the fields that it reads, drawn, as prototxt
// text, without `type` and `lr_policy`. Policies draw base_lr, with which a small net stays finite
// for 10 iterations under each rule. They need a max_iter of at least 3.
struct SolverRow {
  std::string (*draw)(Draw* draw) = nullptr;
};
struct RuleRow : SolverRow {};
struct PolicyRow : SolverRow {};
using RuleRows = Registry<RuleRow>;
using PolicyRows = Registry<PolicyRow>;

// Draws solver fields that every rule and policy allows. Fields of the schedule (max_iter,
// test_iter, ...) and of snapshots are not among them.
std::string DrawSolverFields(Draw* draw);
// The fields of SolverParameter that neither the rows nor DrawSolverFields nor the composition of
// cases draw, with the reasons.
extern const std::map<std::string, std::string> kSolverFieldsLeftOut;

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_SOURCE_ROW_H_
