// Small data sets of every kind, written with the formats' own libraries into the test's scratch
// folder.
#ifndef DOPPIO_TESTS_DATA_TINY_DATA_H_
#define DOPPIO_TESTS_DATA_TINY_DATA_H_

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "proto/data.pb.h"

namespace doppio {

// A path in the scratch folder that belongs to the running test.
std::string ScratchPath(const std::string& name);
void WriteFile(const std::string& path, const std::string& content);

using KeysAndValues = std::vector<std::pair<std::string, std::string>>;
void WriteLmdb(const std::string& path, const KeysAndValues& records);
void WriteLevelDb(const std::string& path, const KeysAndValues& records);
std::string Gzip(const std::string& content);

// An IDX file of unsigned bytes.
std::string Idx(const std::vector<int>& extents, const std::vector<int>& values);

// Image files from rows of pixels; three channels are red, green, blue.
std::string Png(int height, int width, int channels, const std::vector<int>& pixels);

struct JpegKind {
  int height, width, channels;  // four channels are inks
  int across = 2, down = 2;     // pixels for a sample of colour
  bool progressive = false;
  unsigned restart = 0;  // blocks; 0: none
  int quality = 100;
};
std::string Jpeg(const JpegKind& kind, const std::vector<int>& pixels);

// A Datum of bytes.
std::string RawDatum(int channels, int height, int width, const std::vector<int>& bytes, int label);
std::string EncodedDatum(const std::string& image, int label);

template <class Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// What `f` throws, as "CODE: text"; "" when it throws nothing.
template <class F>
std::string MessageOf(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::to_string(static_cast<int>(e.code())) + ": " + e.what();
  }
  return "";
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_DATA_TINY_DATA_H_
