#include "python/images.h"

#include <pybind11/numpy.h>

#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/base/file.h"
#include "data/augment/net_input.h"
#include "data/decode/decode.h"

namespace doppio {
namespace py = pybind11;
namespace {

using Pixels8 = py::array_t<uint8_t, py::array::c_style | py::array::forcecast>;

py::array_t<uint8_t> ArrayOf(const Image& image) {
  const ImageShape& shape = image.shape;
  return py::array_t<uint8_t>({shape.height, shape.width, shape.channels}, image.bytes.data());
}

// Returns the image as height x width x channels in BGR order, as data layers see it.
py::array_t<uint8_t> LoadImage(const std::string& path, bool color, bool exif_rotation,
                               int sixteen_bit_range) {
  if (sixteen_bit_range < 256 || sixteen_bit_range > kSixteenBits) {
    throw UsageError("sixteen_bit_range is from 256 to 65536; got ", sixteen_bit_range);
  }
  Image image;
  {
    const py::gil_scoped_release release;
    const std::string file = ReadFile(path);
    DecodeOptions options;
    options.color = color ? DecodeOptions::Color::kColor : DecodeOptions::Color::kGray;
    options.upright = exif_rotation;
    options.sixteen_bit_range = sixteen_bit_range;
    try {
      Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), options, &image);
    } catch (const Error& error) {
      throw Error(error.code(), SourceLoc{path}, error.message());
    }
  }
  return ArrayOf(image);
}

// `record` is a serialised Preprocessing.
std::unique_ptr<NetInput> MakeNetInput(const std::string& record, int channels, int height,
                                       int width) {
  Preprocessing images;
  if (!images.ParseFromString(record)) throw UsageError("the preprocessing is damaged");
  return std::make_unique<NetInput>(images, ImageShape{channels, height, width});
}

// `pixels` are height x width x channels in BGR order, as the result is in the net's order.
py::array_t<uint8_t> Prepare(const NetInput& input, const Pixels8& pixels) {
  if (pixels.ndim() != 3) throw UsageError("an image has the axes height, width and channels");
  Image image;
  image.shape = {static_cast<int>(pixels.shape(2)), static_cast<int>(pixels.shape(0)),
                 static_cast<int>(pixels.shape(1))};
  image.bytes.assign(pixels.data(), pixels.data() + pixels.size());
  {
    const py::gil_scoped_release release;
    input.Prepare(&image);
  }
  return ArrayOf(image);
}

}  // namespace

void AddImages(py::module_* module) {
  module->def("load_image", &LoadImage, py::arg("path"), py::arg("color"), py::arg("exif_rotation"),
              py::arg("sixteen_bit_range"));
  py::class_<NetInput>(*module, "NetInput")
      .def(py::init(&MakeNetInput), py::arg("record"), py::arg("channels"), py::arg("height"),
           py::arg("width"))
      .def("prepare", &Prepare, py::arg("pixels"));
}

}  // namespace doppio
