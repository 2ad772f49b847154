// Rows of the layers HDF5Data, DummyData, Input and MemoryData.
#include "tests/data/source_text.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

// ---- HDF5Data ----------------------------------------------------------------------------------

// Divides `rows` among up to three files.
std::string DrawFiles(Draw* draw, int64_t rows) {
  std::string files;
  for (int64_t more = draw->Int(0, 2); more > 0 && rows > 1; --more) {
    const int64_t part = draw->Int(1, rows - 1);
    files += std::to_string(part) + "+";
    rows -= part;
  }
  return files + std::to_string(rows);
}

std::string DrawHdf5Data(Draw* draw, const SourceWish& wish) {
  std::string sets;
  for (size_t i = 0; i < wish.tops.size(); ++i) {
    // These characters separate the parts of the name.
    if (wish.tops[i].find_first_of("/:;") != std::string::npos) return "";
    sets += (i == 0 ? "" : ";") + wish.tops[i];
    if (i == 0) {
      sets += ":uniform:-1:1:" + (wish.sample.rank() == 0 ? "" : wish.sample.ToString());
    } else {
      sets += ":whole:0:" + std::to_string(wish.classes - 1) + ":";
    }
  }
  std::string name = "numbers_" + DrawFiles(draw, wish.records);
  name += "_" + std::to_string(draw->Int(0, 99)) + "_" + sets + ".txt";
  std::string fields = QuotedText("source", DataPath(wish.folder, name));
  fields += FieldText("batch_size", wish.batch);
  fields += Maybe(draw, 0.5, FieldText("shuffle", true));
  return SourceText(draw, wish, "HDF5Data", MessageText("hdf5_data_param", fields));
}

DOPPIO_REGISTER(SourceRows, "HDF5Data", {&DrawHdf5Data, 0, SourceRow::kPerSample, 1, 8});

// ---- DummyData and Input -----------------------------------------------------------------------

std::string RowsText(const std::string& field, int64_t rows, const Shape& row) {
  std::string dims = FieldText("dim", rows);
  for (const int64_t extent : row.dims()) dims += FieldText("dim", extent);
  return MessageText(field, dims);
}

// Draws a filler of values. What each row gets must not depend on the number of rows, so that
// replicas share a batch: FAN_OUT, AVERAGE, `sparse` and dirac's `groups` are not among the fields.
std::string DrawValueFiller(Draw* draw, const Shape& row) {
  std::vector<std::string> types = {"constant",          "uniform", "gaussian", "truncated_normal",
                                    "positive_unitball", "xavier",  "msra"};
  if (row.rank() == 3) types.push_back("gabor");
  if (row.rank() == 3 && row[1] == row[2]) types.push_back("bilinear");
  const std::string type = draw->Of(types);
  std::string text = QuotedText("type", type);
  if (type == "constant") text += RealText(draw, "value", -1, 1);
  if (type == "uniform") {
    text += RealText(draw, "min", -1, 0);
    text += RealText(draw, "max", 0, 1);
  }
  if (type == "gaussian") text += RealText(draw, "mean", -0.5, 0.5);
  if (type == "gaussian" || type == "truncated_normal" || type == "gabor")
    text += RealText(draw, "std", 0.1, 1);
  if (type == "xavier" || type == "msra")
    text += Maybe(draw, 0.3, FieldText("variance_norm", "FAN_IN"));
  if (type == "msra") text += Maybe(draw, 0.5, RealText(draw, "alpha", 0, 1));
  if (type == "bilinear") text += Maybe(draw, 0.5, RealText(draw, "scale", 0.5, 2));
  return MessageText("data_filler", text);
}

std::string DrawDummyData(Draw* draw, const SourceWish& wish) {
  std::string fields;
  const bool alone = wish.tops.size() == 1;
  if (alone && wish.sample.rank() == 3 && draw->Chance(0.3)) {
    fields += FieldText("num", wish.batch) + FieldText("channels", wish.sample[0]) +
              FieldText("height", wish.sample[1]) + FieldText("width", wish.sample[2]);
  } else {
    for (size_t i = 0; i < wish.tops.size(); ++i)
      fields += RowsText("shape", wish.batch, i == 0 ? wish.sample : Shape());
  }
  if (alone && draw->Chance(0.1)) {
    return SourceText(draw, wish, "DummyData", MessageText("dummy_data_param", fields));
  }
  fields += DrawValueFiller(draw, wish.sample);
  for (size_t i = 1; i < wish.tops.size(); ++i) {
    std::string label = Maybe(draw, 0.5, QuotedText("type", "constant"));
    label += IntText(draw, "value", 0, wish.classes - 1);
    fields += MessageText("data_filler", label);
  }
  return SourceText(draw, wish, "DummyData", MessageText("dummy_data_param", fields));
}

std::string DrawInput(Draw* draw, const SourceWish& wish) {
  std::string fields;
  for (size_t i = 0; i < wish.tops.size(); ++i)
    fields += RowsText("shape", wish.batch, i == 0 ? wish.sample : Shape());
  return SourceText(draw, wish, "Input", MessageText("input_param", fields));
}

DOPPIO_REGISTER(SourceRows, "DummyData", {&DrawDummyData, 0, SourceRow::kPerSample, 1, 4, true});
// The program that runs the net writes the values of Input and MemoryData.
DOPPIO_REGISTER(SourceRows, "Input",
                {&DrawInput, LayerRow::kOutside, SourceRow::kPerSample, 1, 4, true});

// ---- MemoryData --------------------------------------------------------------------------------

std::string DrawMemoryData(Draw* draw, const SourceWish& wish) {
  if (wish.sample.rank() != 3 || wish.tops.size() != 2) return "";
  const std::string fields =
      FieldText("batch_size", wish.batch) + FieldText("channels", wish.sample[0]) +
      FieldText("height", wish.sample[1]) + FieldText("width", wish.sample[2]);
  return SourceText(draw, wish, "MemoryData", MessageText("memory_data_param", fields));
}

DOPPIO_REGISTER(SourceRows, "MemoryData",
                {&DrawMemoryData, LayerRow::kOutside, SourceRow::kPerSample, 2, 2, true});

}  // namespace
}  // namespace doppio
