#include "core/net/spec/solver_fields.h"

#include <google/protobuf/descriptor.h>

#include <cmath>
#include <filesystem>
#include <vector>

namespace doppio {
namespace {

// Returns the `type` that is equivalent to a value of the old enum.
const char* TypeName(SolverParameter::SolverType type) {
  switch (type) {
    case SolverParameter::SGD:
      return "SGD";
    case SolverParameter::NESTEROV:
      return "Nesterov";
    case SolverParameter::ADAGRAD:
      return "AdaGrad";
    case SolverParameter::RMSPROP:
      return "RMSProp";
    case SolverParameter::ADADELTA:
      return "AdaDelta";
    case SolverParameter::ADAM:
      return "Adam";
    case SolverParameter::SAG:
      return "SAG";
  }
  DOPPIO_CHECK(false, "solver type " + std::to_string(type));
}

// Adds numbers that are not finite to `mistakes`, because text files may contain "base_lr: nan".
void CheckFinite(const SolverParameter& solver, const FieldPlaces& places,
                 ErrorCollector* mistakes) {
  using google::protobuf::FieldDescriptor;
  std::vector<const FieldDescriptor*> fields;
  solver.GetReflection()->ListFields(solver, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_FLOAT) continue;
    const int count = field->is_repeated() ? solver.GetReflection()->FieldSize(solver, field) : 1;
    for (int i = 0; i < count; ++i) {
      const float value = field->is_repeated()
                              ? solver.GetReflection()->GetRepeatedFloat(solver, field, i)
                              : solver.GetReflection()->GetFloat(solver, field);
      if (std::isfinite(value)) continue;
      mistakes->Add(places.At(field->name(), i),
                    field->name() + " is " + std::to_string(value) + "; give a finite number");
    }
  }
}

}  // namespace

void UpgradeSolverType(const FieldPlaces& places, SolverParameter* solver,
                       ErrorCollector* mistakes) {
  if (!solver->has_solver_type()) return;
  const std::string type = TypeName(solver->solver_type());
  if (solver->has_type()) {
    mistakes->Add(
        places.At("solver_type"),
        "solver_type is the old form of type; keep only type: \"" + solver->type() + "\"");
    return;
  }
  solver->set_type(type);
  solver->clear_solver_type();
}

void CompleteSnapshotPrefix(const std::string& path, SolverParameter* solver) {
  const std::filesystem::path file(path), prefix(solver->snapshot_prefix());
  std::error_code ignored;
  if (prefix.empty()) {
    solver->set_snapshot_prefix(std::filesystem::path(file).replace_extension().string());
  } else if (std::filesystem::is_directory(prefix, ignored)) {
    solver->set_snapshot_prefix((prefix / file.stem()).string());
  }
}

void CheckSolverFields(const SolverParameter& solver, const FieldPlaces& places,
                       ErrorCollector* mistakes) {
  const auto at_least = [&](const char* field, int64_t value, int64_t least) {
    if (value >= least) return;
    mistakes->Add(places.At(field), StrCat(field, " must be at least ", least, ", got ", value));
  };
  CheckFinite(solver, places, mistakes);
  at_least("iter_size", solver.iter_size(), 1);
  at_least("average_loss", solver.average_loss(), 1);
  at_least("max_iter", solver.max_iter(), 0);
  at_least("max_epoch", solver.max_epoch(), 0);
  at_least("test_interval", solver.test_interval(), 0);
  at_least("test_epoch", solver.test_epoch(), 0);
  at_least("snapshot", solver.snapshot(), 0);
  at_least("snapshot_epoch", solver.snapshot_epoch(), 0);
  at_least("display", solver.display(), 0);

  const auto one_of = [&](const char* field, bool has_field, const char* other, bool has_other) {
    if (!has_field || !has_other) return;
    mistakes->Add(places.At(other), std::string("has ") + other + " and " + field +
                                        ", which have the same meaning; keep one of them");
  };
  one_of("max_iter", solver.max_iter() > 0, "max_epoch", solver.max_epoch() > 0);
  one_of("test_interval", solver.test_interval() > 0, "test_epoch", solver.test_epoch() > 0);
  one_of("snapshot", solver.snapshot() > 0, "snapshot_epoch", solver.snapshot_epoch() > 0);
}

}  // namespace doppio
