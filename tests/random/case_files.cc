// Writes the files of random cases.
#include <google/protobuf/message.h>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "core/net/spec/prototxt.h"
#include "core/net/spec/solver_spec.h"
#include "tests/random/data_files.h"
#include "tests/random/layer_row.h"
#include "tests/random/outcome.h"

namespace doppio {
namespace {

constexpr char kData[] = "data/";
constexpr int kSeed = 7;

bool IsName(const std::string& field) {
  return field == "name" || field == "top" || field == "bottom";
}

// Puts `folder` in front of each path that begins with "data/".
void MovePaths(const std::string& folder, google::protobuf::Message* message) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& access = *message->GetReflection();
  std::vector<const Field*> fields;
  access.ListFields(*message, &fields);
  const auto moved = [&](const std::string& text) {
    return text.rfind(kData, 0) == 0 ? folder + "/" + text : text;
  };
  for (const Field* field : fields) {
    const int count = field->is_repeated() ? access.FieldSize(*message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
        MovePaths(folder, field->is_repeated() ? access.MutableRepeatedMessage(message, field, i)
                                               : access.MutableMessage(message, field));
      } else if (field->type() != Field::TYPE_STRING || IsName(field->name())) {
        continue;
      } else if (field->is_repeated()) {
        access.SetRepeatedString(message, field, i,
                                 moved(access.GetRepeatedString(*message, field, i)));
      } else {
        access.SetString(message, field, moved(access.GetString(*message, field)));
      }
    }
  }
}

// Lets all activations have the type of the plan.
void ClearStorage(NetParameter* net) {
  net->clear_default_forward_type();
  for (LayerParameter& layer : *net->mutable_layer()) layer.clear_forward_type();
}

void WriteText(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string TraitNames(unsigned traits) {
  static const std::vector<std::pair<unsigned, const char*>> names = {
      {LayerRow::kKinks, "kKinks"},           {LayerRow::kJumps, "kJumps"},
      {LayerRow::kWholeBatch, "kWholeBatch"}, {LayerRow::kRandom, "kRandom"},
      {LayerRow::kState, "kState"},           {LayerRow::kHostOnly, "kHostOnly"},
      {LayerRow::kNoBackward, "kNoBackward"}, {LayerRow::kOutside, "kOutside"},
      {LayerRow::kNoOracle, "kNoOracle"}};
  std::string text;
  for (const auto& [trait, name] : names) {
    if ((traits & trait) != 0) text += (text.empty() ? "" : " ") + std::string(name);
  }
  return text + "\n";
}

}  // namespace

std::string WriteCase(const RandomCase& random_case, const Way& way) {
  std::filesystem::create_directories(way.folder + "/" + kData);
  NetParameter net = random_case.net;
  MovePaths(way.folder, &net);
  if (way.dtype == DType::kFloat64) ClearStorage(&net);
  MakeDataFiles(net, way.folder + "/data");
  WriteText(way.folder + "/net.prototxt", ToPrototxt(net));

  SolverParameter solver = random_case.solver;
  MovePaths(way.folder, &solver);
  solver.set_net(way.folder + "/net.prototxt");
  solver.set_snapshot_prefix(way.folder + "/s");
  if (!solver.has_random_seed() || solver.random_seed() < 0) solver.set_random_seed(kSeed);
  if (!solver.has_max_iter() && !solver.has_max_epoch()) solver.set_max_iter(way.iterations);
  // Only Way::stop asks for a snapshot, because writing one takes longer than an iteration.
  solver.clear_snapshot();
  solver.clear_snapshot_epoch();
  solver.clear_test_and_snapshot_last_epochs();
  solver.set_snapshot_after_train(false);
  const std::string path = way.folder + "/solver.prototxt";
  WriteText(path, ToPrototxt(solver));
  return path;
}

Graph GraphOfCase(const std::string& solver_path, Phase phase) {
  const SolverSpec solver = LoadSolver(solver_path);
  if (phase == TEST && solver.tests.empty()) return Graph();
  const NetSource& source = phase == TEST ? solver.tests[0] : solver.train;
  NetOptions options;
  options.phase = phase;
  return MakeGraph(MakeNetSpec(source.net, source.places, source.state, options));
}

void WriteForPrograms(const RandomCase& random_case, const std::string& folder) {
  Way way;
  way.folder = folder;
  WriteCase(random_case, way);
  WriteText(folder + "/net.prototxt", ToPrototxt(random_case.net));
  WriteText(folder + "/solver.prototxt", ToPrototxt(random_case.solver));
  WriteText(folder + "/traits", TraitNames(random_case.traits));
}

}  // namespace doppio
