// Einsum of two values, as a product of matrices.
#include <algorithm>
#include <string>

#include "tools/onnx_import/import_node.h"

namespace doppio {
namespace {

struct Equation {
  std::string a, b, to;  // a letter for each axis
};

bool Has(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

Equation ReadEquation(const ImportNode& node) {
  const std::string given = node.attributes.Text("equation", "");
  std::string text;
  std::copy_if(given.begin(), given.end(), std::back_inserter(text),
               [](char letter) { return letter != ' '; });
  const size_t comma = text.find(','), arrow = text.find("->");
  const auto refuse = [&] {
    node.Refuse(
        "Doppio computes Einsum of two inputs whose letters differ in each of them, are "
        "named behind '->' or summed up over both, and not '",
        given, "'");
  };
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) refuse();
  Equation e = {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
                text.substr(arrow + 2)};
  for (const std::string* letters : {&e.a, &e.b, &e.to}) {
    for (const char letter : *letters) {
      const int places = Has(e.a, letter) + Has(e.b, letter) + Has(e.to, letter);
      if (places < 2 || std::count(letters->begin(), letters->end(), letter) > 1 || letter == '.' ||
          letter == ',')
        refuse();
    }
  }
  return e;
}

class Einsum {
 public:
  explicit Einsum(const ImportNode& node) : node_(node), equation_(ReadEquation(node)) {
    const auto& [a, b, to] = equation_;
    for (const char letter : to)
      (Has(a, letter) ? Has(b, letter) ? batch_ : rows_ : columns_) += letter;
    for (const char letter : a) {
      if (!Has(to, letter)) summed_ += letter;
    }
  }

  ImportValue Import() const {
    LayerParameter layer = LayerOf("MatMul");
    // The last axes may come in either order, which saves a layer Permute.
    const bool turn_a = equation_.a == batch_ + summed_ + rows_,
               turn_b = equation_.b == batch_ + columns_ + summed_;
    if (turn_a) layer.mutable_matmul_param()->set_transpose_a(true);
    if (turn_b) layer.mutable_matmul_param()->set_transpose_b(true);
    const ImportValue a = Matrices(0, equation_.a, turn_a ? summed_ : rows_,
                                   turn_a ? rows_ : summed_),
                      b = Matrices(1, equation_.b, turn_b ? columns_ : summed_,
                                   turn_b ? summed_ : columns_);
    const std::string made = batch_ + rows_ + columns_;
    const ImportValue product =
        node_.results.Reshaped(node_.results.Add(layer, {a, b}), ShapeOf(made));
    return node_.results.Permuted(product, Order(made, equation_.to));
  }

 private:
  int64_t Extent(char letter) const {
    const bool in_a = Has(equation_.a, letter);
    const Shape& shape = node_.inputs.At(in_a ? 0 : 1).shape;
    return shape[static_cast<int>((in_a ? equation_.a : equation_.b).find(letter))];
  }
  Shape ShapeOf(const std::string& letters) const {
    Shape shape;
    for (const char letter : letters) shape.push_back(Extent(letter));
    return shape;
  }
  static std::vector<int64_t> Order(const std::string& from, const std::string& to) {
    std::vector<int64_t> order;
    for (const char letter : to) order.push_back(static_cast<int64_t>(from.find(letter)));
    return order;
  }

  // Returns input `i` with the axes of the batch and two axes for those of `first` and `second`.
  ImportValue Matrices(int i, const std::string& letters, const std::string& first,
                       const std::string& second) const {
    const ImportValue& input = node_.inputs.Blob(i);
    if (input.shape.rank() != static_cast<int>(letters.size()))
      node_.Refuse("its input ", i, " is ", input.shape.ToString());
    Shape shape = ShapeOf(batch_);
    shape.push_back(ShapeOf(first).count());
    shape.push_back(ShapeOf(second).count());
    return node_.results.Reshaped(
        node_.results.Permuted(input, Order(letters, batch_ + first + second)), shape);
  }

  const ImportNode& node_;
  const Equation equation_;
  std::string batch_, rows_, columns_, summed_;
};

void ImportEinsum(const ImportNode& node) { node.results.Set(Einsum(node).Import()); }
[[maybe_unused]] const bool einsum_imported = RegisterImports({"Einsum"}, &ImportEinsum);

}  // namespace
}  // namespace doppio
