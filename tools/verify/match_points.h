// Finds for each layer of one form of a net the layer of the other form that computes the same.
#ifndef DOPPIO_TOOLS_VERIFY_MATCH_POINTS_H_
#define DOPPIO_TOOLS_VERIFY_MATCH_POINTS_H_

#include <string>
#include <vector>

#include "core/net/contract/plain_blob.h"
#include "tools/verify/verify_form.h"

namespace doppio {

struct MatchedPoint {
  int other = -1;        // the point of the second form; -1: none
  const char* how = "";  // "name", "values" or "order"
};

// Returns the partner of each point of `a`. `of_a` and `of_b` are the points' values for the same
// input; values without elements are unknown. Points are matched by the names of their layers,
// where `export` has added an operator ("conv1/Conv"), or of their blobs; then by equal values,
// because a model in which layers are joined has other values under the same names; then by type
// and shape, by type, and at last by shape, in their order. Outputs are matched with outputs only,
// by the names of their blobs or else in their order.
std::vector<MatchedPoint> MatchPoints(const VerifyForm& a, const std::vector<PlainBlob>& of_a,
                                      const VerifyForm& b, const std::vector<PlainBlob>& of_b,
                                      double tolerance);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_VERIFY_MATCH_POINTS_H_
