#!/usr/bin/env python3
"""Tests what count_lines.py counts in one file."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/structure"))
from count_lines import File  # noqa: E402


class CountLinesTest(unittest.TestCase):
    def test_counts_no_comments_and_no_blank_lines(self):
        self.assertEqual(2, File("// a;\n\nint a;  // b\n/* c;\n d; */ int b;\n").lines)

    def test_reads_strings_as_one_token(self):
        file = File('const char* a = R"x(\n// b;\n"; )x";\nchar c = \';\';\nf("/* \\" ;");\n')
        self.assertEqual((5, 3), (file.lines, file.statements))

    def test_a_for_is_one_statement(self):
        self.assertEqual(2, File("for (int i = 0; i < 3; ++i) f(i);").statements)

    def test_counts_statements_inside_a_lambda(self):
        self.assertEqual(3, File("f([&] { g(); if (a) h(); })").statements)

    def test_counts_members(self):
        file = File("""
            enum class E { a, b };
            class A final : public B<int> {
             public:
              explicit A(int x) : x_(x), y_{2} { f(); g(); }
              int Get() const { return x_; }
              bool operator==(const A& o) const { return true; }
              A& operator=(const A&) = delete;
              using T = int;
              struct In { int a = 0; std::vector<int> b{1, 2}; };
              template <typename U>
              void Put(U u);
             private:
              std::function<void(int)> call_ = [](int a) { return a(); };
              int x_ = f(1);
              char y_[3] = {1, 2};
            };""")
        self.assertEqual({"A": [5, 3], "In": [0, 2]}, file.classes)


if __name__ == "__main__":
    unittest.main()
