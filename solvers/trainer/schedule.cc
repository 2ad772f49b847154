#include "solvers/trainer/schedule.h"

#include <algorithm>
#include <string>

#include "core/base/log.h"
#include "core/net/contract/sample_source.h"

namespace doppio {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Adds a mistake if the size of the train data, in which `epoch_field` counts, is not known.
// `field` counts iterations instead.
void CheckEpochs(const SolverSpec& solver, const SourceSize& train, const std::string& field,
                 const std::string& epoch_field, ErrorCollector* errors) {
  if (train.known()) return;
  errors->Add(solver.places.At(epoch_field),
              epoch_field +
                  " needs train data of known size, which no data layer of the train net "
                  "has; give " +
                  field + " instead");
}

// Returns the number of batches per test of test net `net`, or 0 after adding a mistake to
// `errors`.
int64_t TestBatches(const SolverSpec& solver, size_t net, const SourceSize& source,
                    ErrorCollector* errors) {
  const int64_t given = solver.tests[net].iterations;
  if (given != kWholePass) {
    for (const Warning& w : RepeatedSamples(source, solver, net))
      LOG(WARNING) << w.at.ToString() << ": " << w.message;
    return given;
  }
  if (!source.known()) {
    errors->Add(
        solver.places.At("test_interval"),
        StrCat(
            "test net #", net,
            " has no data layer of known size, so there is no whole pass to test; give test_iter"));
    return 0;
  }
  const std::string mistake = source.PartialBatchMistake();
  if (!mistake.empty()) {
    errors->Add(solver.places.At("test_interval"),
                "test net #" + std::to_string(net) + " " + mistake + "; or give test_iter");
    return 0;
  }
  LOG(INFO) << "Test net #" << net << ": no test_iter, so a test is one pass over its "
            << source.samples << " samples in " << source.batches() << " batches of "
            << source.batch
            << (source.last_rows() == 0
                    ? ""
                    : ", the last one of " + std::to_string(source.last_rows()));
  return source.batches();
}

}  // namespace

std::string SourceSize::PartialBatchMistake() const {
  if (last_rows() == 0 || other_batch == 0) return "";
  return StrCat("has data layers with batches of ", batch, " and of ", other_batch,
                " rows, so the last batch of a pass over ", samples,
                " samples cannot be cut short; give all of them the same batch_size");
}

int64_t Schedule::Times(const Recurrence& recurrence, int64_t iteration) const {
  if (recurrence.every == 0) return 0;
  if (!recurrence.epochs) return iteration / recurrence.every;
  const int64_t after = iteration - done.iterations;
  const int64_t samples =
      done.samples + after * (after < 0 ? done.last_samples : iteration_samples);
  return samples / (recurrence.every * epoch_samples);
}

SourceSize FindSource(const Net& net) {
  SourceSize found;
  for (size_t i = 0; i < net.graph().nodes.size(); ++i) {
    const Node& node = net.graph().nodes[i];
    if (!node.bottoms.empty() || node.tops.empty()) continue;
    const Shape& top = net.graph().edges[node.tops[0]].shape;
    const auto* source = Capability<SampleSource>(net.plan().kernel(static_cast<int>(i)));
    const int64_t samples = source == nullptr ? 0 : source->source_size();
    if (found.samples > 0) {
      if (samples > 0 && top.dim_or_1(0) != found.batch) found.other_batch = top.dim_or_1(0);
    } else if (found.batch == 0 || samples > 0) {
      found = {samples, top.dim_or_1(0)};
    }
  }
  return found;
}

SourceSize FindSource(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (!node.shape.samples || node.shape.samples->count == 0 || node.tops.empty()) continue;
    return {node.shape.samples->count, graph.edges[node.tops[0]].shape.dim_or_1(0)};
  }
  return {};
}

std::vector<Warning> RepeatedSamples(const SourceSize& source, const SolverSpec& solver,
                                     size_t net) {
  const int64_t batches = solver.tests[net].iterations;
  if (!source.known() || batches * source.batch <= source.samples) return {};
  return {{solver.places.At("test_iter", static_cast<int>(net)),
           StrCat("test_iter ", batches, " in batches of ", source.batch, " is more than the ",
                  source.samples, " samples of the source of test net #", net,
                  ", so some samples count more often than others; without test_iter, a test "
                  "counts each sample once")}};
}

void CheckEnd(const SolverSpec& solver) {
  if (solver.param.has_max_iter() || solver.param.max_epoch() > 0) return;
  throw UserError(solver.places.At(),
                  "max_iter is missing; set the number of iterations to train (or max_epoch)");
}

bool WritesSnapshots(const SolverParameter& solver) {
  return solver.snapshot() > 0 || solver.snapshot_epoch() > 0 || solver.snapshot_after_train();
}

Schedule MakeSchedule(const SolverSpec& solver, const SourceSize& train,
                      const std::vector<SourceSize>& tests, const TrainingDone& done) {
  const SolverParameter& p = solver.param;
  DOPPIO_CHECK(tests.size() == solver.tests.size(), "a source for each test net");
  ErrorCollector errors;
  errors.Try([&] { CheckEnd(solver); });
  Schedule s;
  s.iter_size = p.iter_size();
  s.epoch_samples = train.samples;
  s.iteration_samples = train.batch * s.iter_size;
  s.done = done;
  const auto recurrence = [&](const char* field, int64_t iterations, const char* epoch_field,
                              int64_t epochs) {
    if (epochs <= 0) return Recurrence{iterations, false};
    CheckEpochs(solver, train, field, epoch_field, &errors);
    return Recurrence{epochs, true};
  };
  const Recurrence end = recurrence("max_iter", p.max_iter(), "max_epoch", p.max_epoch());
  s.test = recurrence("test_interval", p.test_interval(), "test_epoch", p.test_epoch());
  s.snapshot = recurrence("snapshot", p.snapshot(), "snapshot_epoch", p.snapshot_epoch());
  s.max_iter = end.every;
  if (end.epochs && train.known()) {
    const int64_t left = std::max<int64_t>(0, end.every * train.samples - done.samples);
    s.max_iter = done.iterations + CeilDiv(left, s.iteration_samples);
  }
  for (size_t i = 0; i < tests.size(); ++i) {
    s.test_iter.push_back(TestBatches(solver, i, tests[i], &errors));
    const bool whole = solver.tests[i].iterations == kWholePass;
    s.whole_test.push_back(whole);
    s.last_rows.push_back(whole && tests[i].known() ? tests[i].last_rows() : 0);
  }
  errors.ThrowIfAny();
  return s;
}

}  // namespace doppio
