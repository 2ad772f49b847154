// Checks that constants reach memory unchanged. Exits with 1 and names the wrong ones if they do
// not.
//
// GCC 12.2 changes constants on x86-64 CPUs with AVX-512. There it copies blocks of 32 and 64 bytes
// as one integer of 256 or 512 bits, and creates a constant integer by a broadcast of its lowest 64
// bits if all its 64-bit words are equal. But it compares only the words of its short form of the
// number, which drops the highest words while they only repeat the sign. So {1.0, 1.0, 1.0, 0.0}
// becomes four ones, and char[32] = "aaaaaaaaaaaaaaaa" becomes 32 letters. All constants of this
// program have that form: equal words, and above them words of the sign.
//
// The program stores such constants in every known way. -fno-tree-slp-vectorize prevents only the
// ways through consecutive stores that the compiler joins into a vector. "-mmove-max=128
// -mstore-max=128" prevents all of them: the short form of a 128-bit integer drops no word.
// Compile with the optimisation and machine flags of the product: strings are wrong from -O0 on,
// vectors from -O1 on, the rest from -O2 on.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

int wrong = 0;

// Makes the compiler forget the contents of memory.
inline void Hide(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

// Expects `body` in the first `body_count` of `count` values, and `tail` in the others.
template <class T>
[[gnu::noinline]] void Check(const char* name, const T* values, int count, int body_count, T body,
                             T tail) {
  Hide(values);
  for (int i = 0; i < count; ++i) {
    volatile T expected = i < body_count ? body : tail;
    if (values[i] != expected) {
      std::printf("%s of %d bytes per value: %g instead of %g at %d of %d\n", name,
                  static_cast<int>(sizeof(T)), static_cast<double>(values[i]),
                  static_cast<double>(expected), i, count);
      ++wrong;
      return;
    }
  }
}

// A list is an array of constants that is copied to the heap. Each function has one list, because
// the compiler must see both the stores to the array and the copy.
template <class T>
[[gnu::noinline]] void CheckListOf32Bytes() {
  if constexpr (sizeof(T) == 8) {
    const std::vector<T> values{1, 1, 1, 0};
    Check("a list", values.data(), 4, 3, T{1}, T{0});
  } else {
    const std::vector<T> values{1, 1, 1, 1, 1, 1, 0, 0};
    Check("a list", values.data(), 8, 6, T{1}, T{0});
  }
}

template <class T>
[[gnu::noinline]] void CheckListOf64Bytes() {
  if constexpr (sizeof(T) == 8) {
    const std::vector<T> values{3, 3, 3, 3, 3, 0, 0, 0};
    Check("a list", values.data(), 8, 5, T{3}, T{0});
  } else {
    const std::vector<T> values{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0};
    Check("a list", values.data(), 16, 10, T{3}, T{0});
  }
}

[[gnu::noinline]] void CheckNegativeList() {
  const std::vector<int64_t> values{-2, -2, -2, -1};
  Check<int64_t>("a list", values.data(), 4, 3, -2, -1);
}

// Fields of a structure, copied as a block.
template <class T>
struct Fields {
  T a, b, c, d, e, f, g, h;
};

template <class T>
[[gnu::noinline]] void CheckFields() {
  Fields<T> fields;
  fields.a = fields.b = fields.c = fields.d = 2;
  fields.e = fields.f = fields.g = fields.h = 0;
  unsigned char block[sizeof fields];
  std::memcpy(block, &fields, sizeof fields);
  Hide(block);
  T values[8];
  std::memcpy(values, block, sizeof values);
  Check("fields", values, 8, 4, T{2}, T{0});
}

// Elements of an array that a loop computes.
template <class T, int kCount>
[[gnu::noinline]] void CheckLoop() {
  T made[kCount];
  for (int i = 0; i < kCount; ++i) made[i] = i < kCount / 2 ? 7 : 0;
  T values[kCount];
  std::memcpy(values, made, sizeof values);
  Check("a loop", values, kCount, kCount / 2, T{7}, T{0});
}

// The compiler's vector types, which need no vectorisation pass.
template <class T, int kLanes>
[[gnu::noinline]] void CheckVector() {
  typedef T Vector __attribute__((vector_size(sizeof(T) * kLanes)));
  Vector vector = {};
  for (int i = 0; i < kLanes / 2; ++i) vector[i] = 9;
  T values[kLanes];
  std::memcpy(values, &vector, sizeof values);
  Check("a vector", values, kLanes, kLanes / 2, T{9}, T{0});
}

// Strings, whose initialisers are stored as constants without any optimisation.
[[gnu::noinline]] void CheckStrings() {
  char text[32] = "aaaaaaaaaaaaaaaa";
  Check("a string", text, 32, 16, 'a', '\0');
  char long_text[64] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
  Check("a string", long_text, 64, 32, 'b', '\0');
  char copy[32];
  std::memcpy(copy, "cccccccccccccccccccccccc\0\0\0\0\0\0\0", sizeof copy);
  Check("a string", copy, 32, 24, 'c', '\0');
}

template <class T>
void CheckType() {
  // Calls through pointers that the compiler does not know, because it optimises code that runs
  // only once for size.
  void (*const volatile cases[])() = {
      CheckListOf32Bytes<T>,         CheckListOf64Bytes<T>,        CheckFields<T>,
      CheckLoop<T, 32 / sizeof(T)>,  CheckLoop<T, 64 / sizeof(T)>, CheckVector<T, 32 / sizeof(T)>,
      CheckVector<T, 64 / sizeof(T)>};
  for (const auto& check : cases) check();
}

}  // namespace

int main() {
  CheckType<double>();
  CheckType<float>();
  CheckType<int64_t>();
  CheckType<int32_t>();
  void (*const volatile cases[])() = {CheckNegativeList, CheckStrings};
  for (const auto& check : cases) check();
  return wrong == 0 ? 0 : 1;
}
