#include "data/source/hdf5.h"

#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct DataSet {
  std::string name;
  std::vector<hsize_t> shape;
  std::vector<double> values;
  hid_t type;  // type in the file
};

std::string WriteHdf5(const std::string& name, const std::vector<DataSet>& sets) {
  std::string path = ScratchPath(name);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  for (const DataSet& set : sets) {
    const hid_t space =
        H5Screate_simple(static_cast<int>(set.shape.size()), set.shape.data(), nullptr);
    const hid_t data =
        H5Dcreate2(file, set.name.c_str(), set.type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, set.values.data()),
              0);
    H5Dclose(data);
    H5Sclose(space);
  }
  H5Fclose(file);
  return path;
}

std::string WriteList(const std::string& lines) {
  WriteFile(ScratchPath("list.txt"), lines);
  return ScratchPath("list.txt");
}

std::vector<float> NextRows(Hdf5Rows* rows) { return rows->Next()[0].values; }

// Writes three files of 3, 1 and 4 rows with the values 0 to 7. Returns the list's path.
std::string EightRows() {
  return WriteList(WriteHdf5("a.h5", {{"d", {3, 1}, {0, 1, 2}, H5T_IEEE_F32LE}}) + "\n\n" +
                   WriteHdf5("b.h5", {{"d", {1, 1}, {3}, H5T_IEEE_F32LE}}) + "   " +
                   WriteHdf5("c.h5", {{"d", {4, 1}, {4, 5, 6, 7}, H5T_IEEE_F32LE}}) + " \r\n");
}

Hdf5Options Options(int batch, bool shuffle = false) {
  Hdf5Options options;
  options.batch = batch;
  options.shuffle = shuffle;
  return options;
}

TEST(Hdf5Rows, ReadsEachTopFromTheDataSetOfItsNameInAnyNumberType) {
  const std::string list =
      WriteList(WriteHdf5("a.h5", {{"big", {2, 1, 2}, {0.5, -1.5, 2, 3}, H5T_IEEE_F32BE},
                                   {"small", {2}, {-7, 9}, H5T_STD_I8BE},
                                   {"exact", {2, 1}, {0.25, 1e10}, H5T_IEEE_F64LE},
                                   {"bytes", {2}, {250, 251}, H5T_STD_U8LE}}));
  Hdf5Rows rows(list, {"small", "big", "exact", "bytes"}, Options(2));
  EXPECT_EQ(rows.samples().count, 2);
  EXPECT_EQ(rows.current()[0].shape, Shape{});
  EXPECT_EQ(rows.current()[1].shape, (Shape{1, 2}));
  const std::vector<Hdf5Rows::Rows>& tops = rows.Next();
  EXPECT_THAT(tops[0].values, ElementsAre(-7, 9));
  EXPECT_THAT(tops[1].values, ElementsAre(0.5, -1.5, 2, 3));
  EXPECT_THAT(tops[2].values, ElementsAre(0.25, 1e10f));
  EXPECT_THAT(tops[3].values, ElementsAre(250, 251));
}

// NumPy's booleans are an enumeration of two bytes FALSE and TRUE, PyTables' booleans are bits.
TEST(Hdf5Rows, ReadsBooleansAndEnumerationsAsTheirNumbers) {
  const std::string path = ScratchPath("a.h5");
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const auto write = [&](const char* name, hid_t type, hid_t in_memory, const void* values) {
    const hsize_t rows = 3;
    const hid_t space = H5Screate_simple(1, &rows, nullptr);
    const hid_t data = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(H5Dwrite(data, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
    H5Dclose(data);
    H5Sclose(space);
  };
  const hid_t boolean = H5Tenum_create(H5T_STD_I8LE), color = H5Tenum_create(H5T_STD_I16BE);
  const int8_t truths[] = {1, 0, 1};
  H5Tenum_insert(boolean, "FALSE", &truths[1]);
  H5Tenum_insert(boolean, "TRUE", &truths[0]);
  write("mask", boolean, boolean, truths);
  const uint8_t colors[] = {0xfe, 0x0c, 0x01, 0x00, 0xfe, 0x0c};  // -500, 256, -500, big-endian
  H5Tenum_insert(color, "RED", &colors[0]);
  H5Tenum_insert(color, "BLUE", &colors[2]);
  write("color", color, color, colors);
  const uint8_t bits[] = {0, 1, 255};
  write("bits", H5T_STD_B8LE, H5T_NATIVE_B8, bits);
  for (const hid_t type : {boolean, color}) H5Tclose(type);
  H5Fclose(file);
  Hdf5Rows rows(WriteList(path), {"mask", "color", "bits"}, Options(3));
  const std::vector<Hdf5Rows::Rows>& tops = rows.Next();
  EXPECT_THAT(tops[0].values, ElementsAre(1, 0, 1));
  EXPECT_THAT(tops[1].values, ElementsAre(-500, 256, -500));
  EXPECT_THAT(tops[2].values, ElementsAre(0, 1, 255));
}

TEST(Hdf5Rows, NamesTheRowOfASample) {
  const Hdf5Rows rows(EightRows(), {"d"}, Options(5));
  EXPECT_EQ(rows.NameOf(2), "row 2 of '" + ScratchPath("a.h5") + "'");
  EXPECT_EQ(rows.NameOf(8 + 3), "row 0 of '" + ScratchPath("b.h5") + "'");
  EXPECT_EQ(rows.NameOf(16 + 7), "row 3 of '" + ScratchPath("c.h5") + "'");
}

TEST(Hdf5Rows, GoesFromFileToFileAndStartsOver) {
  Hdf5Rows rows(EightRows(), {"d"}, Options(5));
  EXPECT_EQ(rows.samples().count, 8);
  EXPECT_THAT(NextRows(&rows), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(rows.cursor().next_sample(), 5);
  EXPECT_THAT(NextRows(&rows), ElementsAre(5, 6, 7, 0, 1));
  EXPECT_THAT(NextRows(&rows), ElementsAre(2, 3, 4, 5, 6));
}

TEST(Hdf5Rows, FillsABatchLargerThanAllFiles) {
  Hdf5Rows rows(EightRows(), {"d"}, Options(10));
  EXPECT_THAT(NextRows(&rows), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0, 1));
}

TEST(Hdf5Rows, ShufflesFilesAndRowsEachEpoch) {
  Hdf5Rows rows(EightRows(), {"d"}, Options(8, true));
  std::vector<float> first = NextRows(&rows);
  const std::vector<float> second = NextRows(&rows);
  EXPECT_NE(first, second);
  // Rows of one file stay together: those of c.h5 are adjacent.
  const auto c = std::find_if(first.begin(), first.end(), [](float v) { return v >= 4; });
  ASSERT_LE(c - first.begin(), 4);
  EXPECT_TRUE(std::all_of(c, c + 4, [](float v) { return v >= 4; }));
  std::sort(first.begin(), first.end());
  EXPECT_THAT(first, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Hdf5Rows, GoesOnFromAnySampleAsIfItHadRunThere) {
  const std::string list = EightRows();
  Hdf5Rows straight(list, {"d"}, Options(3, true)), fresh(list, {"d"}, Options(3, true));
  for (int i = 0; i < 4; ++i) NextRows(&straight);
  fresh.cursor().Seek(straight.cursor().next_sample());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(NextRows(&fresh), NextRows(&straight));
}

TEST(Hdf5Rows, SharesOfAllRanksMakeUpTheStream) {
  const std::string list = EightRows();
  Hdf5Rows whole(list, {"d"}, Options(2, true));
  Hdf5Rows first(list, {"d"}, Options(2, true)), second(list, {"d"}, Options(2, true));
  first.cursor().Shard(0, 2);
  second.cursor().Shard(1, 2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(NextRows(&first), NextRows(&whole));
    EXPECT_EQ(second.cursor().next_sample(), whole.cursor().next_sample());
    EXPECT_EQ(NextRows(&second), NextRows(&whole));
  }
}

TEST(Hdf5Files, AreOneSequenceOfRows) {
  const Hdf5Files files(EightRows(), {"d"}, false);
  EXPECT_EQ(files.rows(), 8);
  EXPECT_EQ(files.FileOf(2).path, ScratchPath("a.h5"));
  EXPECT_EQ(files.FileOf(3).path, ScratchPath("b.h5"));
  EXPECT_EQ(files.FileOf(7).begin, 4);
  EXPECT_THAT(files.Read(files.all()[2]), ElementsAre(ElementsAre(4, 5, 6, 7)));
}

TEST(Hdf5Reader, LoadsTheFilesOfTheBlockThatHasTheRow) {
  const Hdf5Files files(EightRows(), {"d"}, false);
  const Hdf5Files::File &a = files.all()[0], &b = files.all()[1], &c = files.all()[2];
  GroupRule rule;
  rule.blocks = {4, 4};
  Hdf5Reader reader(files, rule, 1);
  const Hdf5Reader::Loaded& first = reader.Load(0, 0);
  EXPECT_EQ(first.size(), 2u);
  EXPECT_THAT(first.at(&a), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(first.at(&b), ElementsAre(ElementsAre(3)));
  // Row 4 replaces the row of sample 3. The block whose turn it is stays in memory.
  EXPECT_THAT(reader.Load(3, 4).at(&c), ElementsAre(ElementsAre(4, 5, 6, 7)));
  EXPECT_EQ(reader.Load(3, 3).count(&b), 1u);
  EXPECT_EQ(reader.Load(4, 4).count(&c), 1u);
  EXPECT_EQ(reader.Load(8, 0).count(&b), 1u);
}

std::string OpenError(const std::string& list, const std::vector<std::string>& tops = {"d"}) {
  return MessageOf([&] { Hdf5Rows(list, tops, Options(1)); });
}

TEST(Hdf5Rows, SaysWhichFileIsMissingOrOfAnotherKind) {
  EXPECT_EQ(OpenError("none.txt"), "4: cannot read 'none.txt': No such file or directory");
  EXPECT_EQ(OpenError(WriteList("\n")), "4: '" + ScratchPath("list.txt") + "' lists no HDF5 files");
  EXPECT_EQ(OpenError(WriteList("gone.h5")), "4: no HDF5 file 'gone.h5': there is no such file");
  EXPECT_THAT(OpenError(WriteList("\x89HDF\r\n\x1a\n")),
              testing::HasSubstr("list.txt' is an HDF5 file, but a list of HDF5 files is needed; "
                                 "layer HDF5Data needs a text file that lists HDF5 files"));
  WriteFile(ScratchPath("x.h5"), "no hdf5");
  EXPECT_EQ(OpenError(WriteList(ScratchPath("x.h5"))),
            "4: cannot open '" + ScratchPath("x.h5") +
                "' as an HDF5 file: it is damaged or in another format");
}

TEST(Hdf5Rows, SaysWhichDataSetIsMissingAndWhatThereIs) {
  const std::string path =
      WriteHdf5("a.h5", {{"data", {1}, {1}, H5T_IEEE_F32LE}, {"label", {1}, {1}, H5T_IEEE_F32LE}});
  EXPECT_EQ(OpenError(WriteList(path)),
            "4: HDF5 file '" + path + "' has no data set 'd'; it has data label");
}

TEST(Hdf5Rows, SaysThatADataSetHoldsNoNumbers) {
  const std::string path = ScratchPath("a.h5");
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t two = 2;
  const hid_t space = H5Screate_simple(1, &two, nullptr);
  H5Dclose(H5Dcreate2(file, "d", H5T_C_S1, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  H5Fclose(file);
  EXPECT_EQ(OpenError(WriteList(path)),
            "4: data set 'd' of '" + path + "' does not hold numbers, but strings");
}

// Writes a file whose data set has extents but no stored values, in chunks of up to `extent`
// elements along each axis; HDF5 reads zeros.
std::string Stated(const std::string& name, const std::vector<hsize_t>& dims,
                   hsize_t extent = 1024) {
  std::string path = ScratchPath(name);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  const hid_t made = H5Pcreate(H5P_DATASET_CREATE);
  std::vector<hsize_t> chunk;
  for (const hsize_t dim : dims) chunk.push_back(std::min(dim, extent));
  H5Pset_chunk(made, static_cast<int>(dims.size()), chunk.data());
  H5Dclose(H5Dcreate2(file, "d", H5T_IEEE_F32LE, space, H5P_DEFAULT, made, H5P_DEFAULT));
  H5Pclose(made);
  H5Sclose(space);
  H5Fclose(file);
  return path;
}

TEST(Hdf5Rows, RefusesDataSetsThatStateMoreThanTheyHold) {
  const auto message_of = [](const std::string& path) {
    return MessageOf([&] { Hdf5Rows(WriteList(path), {"d"}, Options(1)); });
  };
  const std::string wraps = Stated("wraps.h5", {64, 536838145, 536903681});
  EXPECT_EQ(message_of(wraps),
            "4: data set 'd' of '" + wraps + "' has more than the limit of 17179869184 elements");
  const std::string large = Stated("large.h5", {1 << 24, 512});
  EXPECT_EQ(message_of(large), "4: data set 'd' of '" + large +
                                   "' states 8589934592 elements, but the file holds only 0 bytes "
                                   "of them");
  const std::string chunks = Stated("chunks.h5", {1 << 20, 1}, 1);
  EXPECT_EQ(message_of(chunks), "4: data set 'd' of '" + chunks +
                                    "' is divided into 1048576 chunks, but the file holds only 0 "
                                    "bytes of them");
}

struct VirtualSource {
  std::string file, set;
  hsize_t row = 0;  // of the virtual set; the source has one row
};

// Writes the data set `name` of `rows` rows, whose rows are those of the sources. A source of row
// -1 stands for all rows, one block after the other. Adds the data set to a file that exists.
std::string WriteVirtual(const std::string& path, const std::string& name, hsize_t rows,
                         const std::vector<VirtualSource>& sources) {
  const bool old = H5Fis_hdf5(path.c_str()) > 0;
  const hid_t file = old ? H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                         : H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t one = 1, most = H5S_UNLIMITED;
  const hid_t made = H5Pcreate(H5P_DATASET_CREATE), source = H5Screate_simple(1, &one, nullptr);
  const bool blocks = sources[0].row == static_cast<hsize_t>(-1);
  const hid_t space = H5Screate_simple(1, &rows, blocks ? &most : nullptr);
  for (const VirtualSource& from : sources) {
    const hsize_t start = blocks ? 0 : from.row, count = blocks ? most : 1;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &one, &count, &one);
    EXPECT_GE(H5Pset_virtual(made, space, from.file.c_str(), from.set.c_str(), source), 0);
  }
  H5Sselect_all(space);
  H5Dclose(H5Dcreate2(file, name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, made, H5P_DEFAULT));
  for (const hid_t id : {space, source}) H5Sclose(id);
  H5Pclose(made);
  H5Fclose(file);
  return path;
}

TEST(Hdf5Rows, ReadsVirtualDataSetsOfOtherFilesAndOfVirtualOnes) {
  WriteHdf5("a.h5", {{"d", {1}, {5}, H5T_IEEE_F32LE}});
  WriteHdf5("b.h5", {{"d", {1}, {6}, H5T_IEEE_F32LE}});
  WriteVirtual(ScratchPath("v.h5"), "inner", 1, {{"b.h5", "d"}});
  const std::string path = WriteVirtual(ScratchPath("v.h5"), "d", 3,
                                        {{"a.h5", "d"}, {".", "inner", 1}, {"gone.h5", "d", 2}});
  Hdf5Rows rows(WriteList(path), {"d"}, Options(3));
  EXPECT_THAT(NextRows(&rows), ElementsAre(5, 6, 0));
}

TEST(Hdf5Rows, RefusesVirtualDataSetsThatReadThemselves) {
  const auto refused = [](const std::string& path) {
    EXPECT_EQ(OpenError(WriteList(path)),
              "4: data set 'd' of '" + path +
                  "' is virtual, and its sources are virtual on more than 8 levels; it may read "
                  "itself; write its values to an ordinary data set");
  };
  refused(WriteVirtual(ScratchPath("self.h5"), "d", 1, {{".", "d"}}));
  refused(WriteVirtual(ScratchPath("path.h5"), "d", 1, {{ScratchPath("path.h5"), "/d"}}));
  refused(WriteVirtual(ScratchPath("moved.h5"), "d", 1, {{"/gone/moved.h5", "d"}}));
  WriteVirtual(ScratchPath("one.h5"), "d", 1, {{"two.h5", "d"}});
  refused(WriteVirtual(ScratchPath("two.h5"), "d", 1, {{"./one.h5", "d"}}));
  refused(WriteVirtual(ScratchPath("block0.h5"), "d", 2,
                       {{"block%b.h5", "d", static_cast<hsize_t>(-1)}}));
}

TEST(Hdf5Rows, RefusesVirtualDataSetsThatReadThemselvesThroughLinks) {
  const std::string path = ScratchPath("links.h5");
  WriteVirtual(path, "d", 1, {{".", "soft"}});
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Lcreate_external("links.h5", "d", file, "external", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/external", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  EXPECT_THAT(OpenError(WriteList(path)), HasSubstr("it may read itself"));
}

TEST(Hdf5Rows, RefusesExternalStorageInAPipe) {
  const std::string path = ScratchPath("outside.h5"), pipe = ScratchPath("values");
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t rows = 2;
  const hid_t space = H5Screate_simple(1, &rows, nullptr), made = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(made, pipe.c_str(), 0, 8);
  H5Dclose(H5Dcreate2(file, "d", H5T_IEEE_F32LE, space, H5P_DEFAULT, made, H5P_DEFAULT));
  H5Pclose(made);
  H5Sclose(space);
  H5Fclose(file);
  EXPECT_EQ(OpenError(WriteList(path)),
            "4: '" + pipe +
                "' is a pipe, and external storage of an HDF5 file cannot be read from "
                "a pipe; write it to a file first");
}

TEST(Hdf5Rows, NoticesAFileThatHasBecomeShorter) {
  const std::string a = WriteHdf5("a.h5", {{"d", {3, 1}, {0, 1, 2}, H5T_IEEE_F32LE}});
  Hdf5Rows rows(WriteList(a), {"d"}, Options(1));
  WriteHdf5("a.h5", {{"d", {1, 1}, {0}, H5T_IEEE_F32LE}});
  EXPECT_EQ(MessageOf([&] { NextRows(&rows); }),
            "4: data set 'd' of '" + a + "' has changed its size since the start");
}

TEST(Hdf5Rows, ReadsFilesWithRowsOfOtherShapesOneByOne) {
  const std::string list =
      WriteList(WriteHdf5("a.h5", {{"d", {1, 2}, {1, 2}, H5T_IEEE_F32LE}}) + "\n" +
                WriteHdf5("b.h5", {{"d", {2, 3}, {1, 2, 3, 4, 5, 6}, H5T_IEEE_F32LE}}));
  Hdf5Rows rows(list, {"d"}, Options(1));
  EXPECT_TRUE(rows.files().shapes_vary());
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_THAT(NextRows(&rows), ElementsAre(1, 2));
    EXPECT_EQ(rows.current()[0].shape, Shape{2});
    EXPECT_THAT(NextRows(&rows), ElementsAre(1, 2, 3));
    EXPECT_THAT(NextRows(&rows), ElementsAre(4, 5, 6));
    EXPECT_EQ(rows.current()[0].shape, Shape{3});
  }
}

TEST(Hdf5Rows, SaysThatShapesDiffer) {
  const std::string rows = WriteHdf5(
      "rows.h5", {{"d", {2}, {1, 2}, H5T_IEEE_F32LE}, {"e", {3}, {1, 2, 3}, H5T_IEEE_F32LE}});
  EXPECT_EQ(OpenError(WriteList(rows), {"d", "e"}),
            "4: data set 'e' of '" + rows + "' has 3 rows, but data set 'd' has 2");
  const std::string a = WriteHdf5("a.h5", {{"d", {1, 2}, {1, 2}, H5T_IEEE_F32LE}});
  const std::string b = WriteHdf5("b.h5", {{"d", {1, 3}, {1, 2, 3}, H5T_IEEE_F32LE}});
  const std::string differ =
      "4: data set 'd' of '" + b + "' has rows of 3, but in '" + a + "' they are 2";
  EXPECT_EQ(MessageOf([&] { Hdf5Rows(WriteList(a + "\n" + b), {"d"}, Options(2)); }),
            differ + "; only a batch_size of 1 allows that");
  const std::string c = WriteHdf5("c.h5", {{"d", {1, 1, 3}, {1, 2, 3}, H5T_IEEE_F32LE}});
  EXPECT_THAT(OpenError(WriteList(a + "\n" + c)), HasSubstr("has rows of 1x3, but in"));
  const std::string scalar = WriteHdf5("s.h5", {{"d", {}, {1}, H5T_IEEE_F32LE}});
  EXPECT_THAT(OpenError(WriteList(scalar)),
              HasSubstr("is a single number; its first axis must be rows"));
  const std::string empty = WriteHdf5("e.h5", {{"d", {0}, {}, H5T_IEEE_F32LE}});
  EXPECT_EQ(OpenError(WriteList(empty)),
            "4: the HDF5 files of '" + ScratchPath("list.txt") + "' have no rows");
}

}  // namespace
}  // namespace doppio
