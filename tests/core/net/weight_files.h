// Shared code of the tests of weight and state files: temporary files, a small model, and expected
// errors.
#ifndef DOPPIO_TESTS_CORE_NET_WEIGHT_FILES_H_
#define DOPPIO_TESTS_CORE_NET_WEIGHT_FILES_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "proto/net.pb.h"

namespace doppio {

// Writes a file without an fsync, unlike Doppio's own writers: some tests write hundreds of files.
inline void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string Temporary(const std::string& name) { return testing::TempDir() + "/" + name; }

inline void AddBlob(BlobProto* blob, const std::vector<int64_t>& dims, float start) {
  int64_t count = 1;
  for (int64_t d : dims) {
    blob->mutable_shape()->add_dim(d);
    count *= d;
  }
  for (int64_t i = 0; i < count; ++i) blob->add_data(start + static_cast<float>(i));
}

inline std::string Saved(const NetParameter& net, const std::string& name = "saved.caffemodel") {
  WriteBytes(Temporary(name), net.SerializeAsString());
  return Temporary(name);
}

// Returns a net with two layers: conv (2x3x1x1, 2) and ip (3x4, 3).
inline NetParameter TwoLayers() {
  NetParameter net;
  LayerParameter* conv = net.add_layer();
  conv->set_name("conv");
  conv->set_type("Convolution");
  AddBlob(conv->add_blobs(), {2, 3, 1, 1}, 10);
  AddBlob(conv->add_blobs(), {2}, 20);
  LayerParameter* ip = net.add_layer();
  ip->set_name("ip");
  ip->set_type("InnerProduct");
  AddBlob(ip->add_blobs(), {3, 4}, 30);
  AddBlob(ip->add_blobs(), {3}, 50);
  return net;
}

inline void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// Returns the path of a file in the optional shared folder, or "" if DOPPIO_SHARED is not set.
inline std::string SharedFile(const std::string& path) {
  const char* shared = std::getenv("DOPPIO_SHARED");
  return shared == nullptr ? "" : std::string(shared) + "/" + path;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_CORE_NET_WEIGHT_FILES_H_
