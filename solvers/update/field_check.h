// Checks single fields of a solver, in the same words for all of them.
#ifndef DOPPIO_SOLVERS_UPDATE_FIELD_CHECK_H_
#define DOPPIO_SOLVERS_UPDATE_FIELD_CHECK_H_

#include <string>
#include <vector>

#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

// Returns the names with ", " between them, and with `last` before the last one.
std::string JoinList(const std::vector<std::string>& names, const std::string& last = ", ");
// Formats a number as messages show it.
std::string NumberText(double value);

// Adds the mistakes that it finds to a list. Fields are given by name and must be floats or strings
// as stated.
class FieldCheck {
 public:
  // The arguments must outlive this object.
  FieldCheck(const SolverParameter& param, const FieldPlaces& places, ErrorCollector* errors)
      : param_(param), places_(places), errors_(errors) {}

  // Adds a mistake at the place of `field`.
  void Add(const char* field, const std::string& mistake) {
    errors_->Add(places_.At(field), mistake);
  }
  void Positive(const char* field);        // a float
  void InUnitInterval(const char* field);  // a float; must be at least 0 and below 1
  void OneOf(const char* field, const std::vector<std::string>& known);  // a string

 private:
  float Number(const char* field) const;

  const SolverParameter& param_;
  const FieldPlaces& places_;
  ErrorCollector* const errors_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_FIELD_CHECK_H_
