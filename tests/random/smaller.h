// Single steps that make a case smaller (shrink.h).
#ifndef DOPPIO_TESTS_RANDOM_SMALLER_H_
#define DOPPIO_TESTS_RANDOM_SMALLER_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

// Returns the net without layers [begin, end). Layers that read a top of one of them read its
// bottom of the same index instead, or else its last bottom.
NetParameter WithoutLayers(const NetParameter& net, int begin, int end);
// Returns the net without the layers [begin, end), all layers that need their tops, and sources
// that no layer then reads.
NetParameter WithoutBranch(const NetParameter& net, int begin, int end);

// Removes element number `index` of the fields that are set in `message`, in depth first order: a
// message before its own fields, elements of a list one by one. Never removes the names, types and
// blobs of layers. Returns false if there is no such element.
bool RemoveField(int index, google::protobuf::Message* message);

// Returns the smaller values to try for an extent: 1, 2, a half, one less.
std::vector<int64_t> SmallerExtents(int64_t extent);
// Sets number `index` of the integers greater than 1 in `message`, including those in the names of
// data files (data_files.h), to its smaller value number `choice`. Returns false if there is no
// such number; sets `*changed` to false if it has no such smaller value.
bool LowerExtent(int index, size_t choice, google::protobuf::Message* message, bool* changed);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_SMALLER_H_
