// The differences between two witnesses: of their outputs, and of each pair of layers.
#ifndef DOPPIO_TOOLS_VERIFY_COMPARISON_H_
#define DOPPIO_TOOLS_VERIFY_COMPARISON_H_

#include <string>
#include <vector>

#include "tools/export/weight_stats.h"
#include "tools/verify/match_points.h"
#include "tools/verify/witness.h"

namespace doppio {

// A pair of points and the differences of their values in all runs so far.
struct PointPair {
  int a = 0, b = 0;
  std::string how;  // see MatchedPoint
  bool output = false;
  Shape shape;  // of `a`
  ValueDifference values;
  int64_t run = 0;           // of the largest difference
  float of_a = 0, of_b = 0;  // the values there
  std::string unlike;        // the shapes, if they differ: "1x8x7x7 and 1x8x6x6"
  bool compared = false;     // false if a program does not tell the value
  int64_t rows = 0,
          same_top = 0;  // of outputs with classes on axis 1: how often the top is the same

  bool Agrees(double tolerance) const { return unlike.empty() && values.relative() <= tolerance; }
};

class Comparison {
 public:
  // Compares `b` with the reference `a`. The forms must outlive this object.
  Comparison(const VerifyForm& a, const VerifyForm& b, double tolerance)
      : a_(a), b_(b), tolerance_(tolerance) {}

  // Adds the values of a run.
  void Add(const std::vector<PlainBlob>& of_a, const std::vector<PlainBlob>& of_b);

  const VerifyForm& a() const { return a_; }
  const VerifyForm& b() const { return b_; }
  // Returns the pairs in the order of the points of `a`.
  const std::vector<PointPair>& pairs() const { return pairs_; }
  // Returns the pair of point `a`, or null.
  const PointPair* Find(int point_of_a) const;
  // Returns the outputs of `a` and of `b` that the other form lacks.
  std::vector<std::string> LoneOutputs() const;
  // Returns the run in which an output differs most.
  int64_t WorstRun() const;
  // Returns true if all outputs agree, with what their layers read, and no form has one that the
  // other lacks. A softmax near 0 and 1 alone would hide differences.
  bool Agrees() const;
  // Returns the first pair in order whose difference reaches an output that differs. A pair that
  // differs, but whose readers all agree again, is not the cause: layers may be joined in one form.
  // Returns null if the outputs agree or no pair inside the nets has been compared.
  const PointPair* First() const;

  // The values of the first run, in which the cause of a difference is searched.
  const std::vector<PlainBlob>& first_of_a() const { return first_of_a_; }
  const std::vector<PlainBlob>& first_of_b() const { return first_of_b_; }

 private:
  bool OutputAgrees(const PointPair& output) const;

  const VerifyForm &a_, &b_;
  const double tolerance_;
  std::vector<PointPair> pairs_;
  int64_t runs_ = 0;
  std::vector<PlainBlob> first_of_a_, first_of_b_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_VERIFY_COMPARISON_H_
