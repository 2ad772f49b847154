// The shapes that a script gives to the inputs of a net.
#ifndef DOPPIO_PYTHON_INPUT_SHAPES_H_
#define DOPPIO_PYTHON_INPUT_SHAPES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"

namespace doppio {

// A shape takes effect when the net is planned again. Until then it is a request, with memory for
// the values that the script writes to the input. The GIL protects requests; the turn to use the
// net (ShownNet) protects shapes().
class InputShapes {
 public:
  struct Input {
    Shape shape;
    std::shared_ptr<std::vector<float>> values;
  };
  using Requests = std::map<std::string, Input>;

  // Requests a shape for a blob of a net with this graph. Throws UsageError if the blob is no top
  // of an Input layer or the shape has an extent below 1.
  void Request(const Graph& graph, const std::string& blob, const Shape& shape);
  // Returns the request for the blob, or null.
  const Input* Find(const std::string& blob) const;
  const Requests& requests() const { return requests_; }

  // Returns the shapes that differ from the file's.
  const std::map<std::string, Shape>& shapes() const { return shapes_; }
  // Returns the same after `requests`.
  std::map<std::string, Shape> ShapesWith(const Requests& requests) const;
  // Notes that the net has the requested shapes. Needs both the GIL and the turn.
  void Fulfil(const Requests& requests);

 private:
  std::map<std::string, Shape> shapes_;
  Requests requests_;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_INPUT_SHAPES_H_
