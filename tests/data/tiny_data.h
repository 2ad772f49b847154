// Writes small data sets of every kind with the formats' own libraries into the test's scratch
// folder.
#ifndef DOPPIO_TESTS_DATA_TINY_DATA_H_
#define DOPPIO_TESTS_DATA_TINY_DATA_H_

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "proto/data.pb.h"
#include "tests/testing/mistake.h"

namespace doppio {

// Returns a path in the scratch folder that is unique to the running test.
std::string ScratchPath(const std::string& name);
void WriteFile(const std::string& path, const std::string& content);

using KeysAndValues = std::vector<std::pair<std::string, std::string>>;
void WriteLmdb(const std::string& path, const KeysAndValues& records);
void WriteLevelDb(const std::string& path, const KeysAndValues& records);
std::string Gzip(const std::string& content);

// Returns the content of an IDX file of unsigned bytes.
std::string Idx(const std::vector<int>& extents, const std::vector<int>& values);

// Returns an image file with these pixels, row by row; three channels are red, green, blue.
std::string Png(int height, int width, int channels, const std::vector<int>& pixels);

struct PngKind {
  int bits;
  int color_type;  // 0: gray, 2: colour, 3: palette, 4: gray with alpha, 6: colour with alpha
  bool interlaced = false;
};
// Returns a PNG file. `rows` are stored as they are. The palette has different colours, of which
// the first two are red, green, blue 10, 20, 30 and 40, 50, 60, and transparent.
std::string AnyPng(int width, PngKind kind, std::vector<std::string> rows);

struct JpegKind {
  int height, width, channels;  // four channels are CMYK
  int across = 2, down = 2;     // pixels per chroma sample
  bool progressive = false;
  unsigned restart = 0;  // restart interval in blocks; 0: none
  int quality = 100;
};
std::string Jpeg(const JpegKind& kind, const std::vector<int>& pixels);

// Returns a serialized Datum with raw bytes or with an encoded image.
std::string RawDatum(int channels, int height, int width, const std::vector<int>& bytes, int label);
std::string EncodedDatum(const std::string& image, int label);

template <class Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// Returns the exit code and the text of the error that `f` throws: "4: cannot read 'x'".
template <class F>
std::string MessageOf(F&& f) {
  const Error e = Thrown(f);
  return std::to_string(static_cast<int>(e.code())) + ": " + e.what();
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_DATA_TINY_DATA_H_
