// Tests constants that g++ 12.2 changes when it generates code for AVX-512 without further options
// (see tools/bazel/constants_probe.cc): blocks of 32 and 64 bytes whose words are equal, except for
// zeros in the highest words.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace doppio {
namespace {

// Not inlined, so that the compiler cannot compute the text at compile time.
template <class T>
[[gnu::noinline]] std::string Text(const T* values, size_t count) {
  asm volatile("" : : "r"(values) : "memory");
  std::ostringstream text;
  for (size_t i = 0; i < count; ++i) text << (i == 0 ? "" : " ") << values[i];
  return text.str();
}

template <class List>
std::string Text(const List& list) {
  return Text(list.data(), list.size());
}

TEST(Constants, KeepTheZerosAtTheEndOfAList) {
  EXPECT_EQ(Text(std::vector<double>{1, 1, 1, 0}), "1 1 1 0");
  EXPECT_EQ(Text(std::vector<double>{2, 2, 0, 0}), "2 2 0 0");
  EXPECT_EQ(Text(std::vector<int64_t>{4, 4, 4, 0}), "4 4 4 0");
  EXPECT_EQ(Text(std::vector<float>{1, 1, 1, 1, 1, 1, 0, 0}), "1 1 1 1 1 1 0 0");
  EXPECT_EQ(Text(std::vector<float>{1, 5, 1, 5, 0, 0, 0, 0}), "1 5 1 5 0 0 0 0");
  EXPECT_EQ(Text(std::vector<int>{7, 7, 7, 7, 0, 0, 0, 0}), "7 7 7 7 0 0 0 0");
}

TEST(Constants, KeepTheZerosAtTheEndOfALongList) {
  EXPECT_EQ(Text(std::vector<double>{3, 3, 3, 3, 3, 3, 3, 0}), "3 3 3 3 3 3 3 0");
  EXPECT_EQ(Text(std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}),
            "1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 0");
  EXPECT_EQ(Text(std::vector<int>{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0}),
            "2 2 2 2 2 2 2 2 2 2 2 2 2 2 0 0");
}

TEST(Constants, KeepTheSignsAtTheEndOfAList) {
  EXPECT_EQ(Text(std::vector<int64_t>{-2, -2, -2, -1}), "-2 -2 -2 -1");
  EXPECT_EQ(Text(std::vector<int>{-3, -3, -3, -3, -3, -3, -1, -1}), "-3 -3 -3 -3 -3 -3 -1 -1");
}

struct Window {
  int64_t top, left, height, width;
};

[[gnu::noinline]] void Fill(Window* window, std::array<double, 8>* weights) {
  const Window filled{3, 3, 3, 0};
  std::memcpy(window, &filled, sizeof filled);
  std::array<double, 8> ones{};
  for (size_t i = 0; i < 5; ++i) ones[i] = 1;
  std::memcpy(weights, &ones, sizeof ones);
}

TEST(Constants, KeepTheZerosOfStructuresAndArrays) {
  Window window;
  std::array<double, 8> weights;
  Fill(&window, &weights);
  EXPECT_EQ(Text(&window.top, 4), "3 3 3 0");
  EXPECT_EQ(Text(weights), "1 1 1 1 1 0 0 0");
}

[[gnu::noinline]] std::string AfterLetters(const char* text, size_t letters, size_t size) {
  asm volatile("" : : "r"(text) : "memory");
  for (size_t i = letters; i < size; ++i) {
    if (text[i] != '\0') return std::string(1, text[i]) + " at " + std::to_string(i);
  }
  return "zeros";
}

TEST(Constants, KeepTheZerosBehindAString) {
  char text[32] = "aaaaaaaaaaaaaaaa";
  EXPECT_EQ(AfterLetters(text, 16, sizeof text), "zeros");
  char name[64] = "abcdefghabcdefghabcdefgh";
  EXPECT_EQ(AfterLetters(name, 24, sizeof name), "zeros");
}

template <class T, int kLanes>
[[gnu::noinline]] void StoreHalf(T* to) {
  typedef T Lanes __attribute__((vector_size(sizeof(T) * kLanes)));
  Lanes lanes = {};
  for (int i = 0; i < kLanes / 2; ++i) lanes[i] = 1;
  std::memcpy(to, &lanes, sizeof lanes);
}

TEST(Constants, KeepTheZerosOfVectors) {
  std::array<float, 16> floats;
  StoreHalf<float, 8>(floats.data());
  EXPECT_EQ(Text(floats.data(), 8), "1 1 1 1 0 0 0 0");
  StoreHalf<float, 16>(floats.data());
  EXPECT_EQ(Text(floats), "1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 0");
  std::array<double, 4> doubles;
  StoreHalf<double, 4>(doubles.data());
  EXPECT_EQ(Text(doubles), "1 1 0 0");
}

}  // namespace
}  // namespace doppio
