#include "tests/data/tiny_data.h"

#include <jpeglib.h>
#include <leveldb/db.h>
#include <lmdb.h>
#include <png.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

namespace doppio {
namespace {

std::string Bytes(const std::vector<int>& values) {
  std::string bytes;
  for (int v : values) bytes += static_cast<char>(v);
  return bytes;
}

// Removes PNG chunks that are not pixels, such as a gamma, which would affect the conversion of
// colour to gray.
std::string OnlyPixels(const std::string& png) {
  std::string file = png.substr(0, 8);
  for (size_t at = 8; at < png.size();) {
    const auto* length = reinterpret_cast<const unsigned char*>(&png[at]);
    const size_t chunk = 12 + (size_t{length[2]} << 8) + length[3];
    const std::string kind = png.substr(at + 4, 4);
    if (kind == "IHDR" || kind == "IDAT" || kind == "IEND") file += png.substr(at, chunk);
    at += chunk;
  }
  return file;
}

}  // namespace

std::string ScratchPath(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder =
      testing::TempDir() + "/" + test->test_suite_name() + "." + test->name();
  mkdir(folder.c_str(), 0755);
  return folder + "/" + name;
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

void WriteLmdb(const std::string& path, const KeysAndValues& records) {
  mkdir(path.c_str(), 0755);
  MDB_env* env;
  MDB_txn* txn;
  MDB_dbi dbi;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_set_mapsize(env, 16 << 20), 0);
  ASSERT_EQ(mdb_env_open(env, path.c_str(), 0, 0664), 0);
  ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
  ASSERT_EQ(mdb_dbi_open(txn, nullptr, 0, &dbi), 0);
  for (const auto& record : records) {
    MDB_val key{record.first.size(), const_cast<char*>(record.first.data())};
    MDB_val value{record.second.size(), const_cast<char*>(record.second.data())};
    ASSERT_EQ(mdb_put(txn, dbi, &key, &value, 0), 0);
  }
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  mdb_env_close(env);
}

void WriteLevelDb(const std::string& path, const KeysAndValues& records) {
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* opened;
  ASSERT_TRUE(leveldb::DB::Open(options, path, &opened).ok());
  const std::unique_ptr<leveldb::DB> db(opened);
  for (const auto& record : records) {
    ASSERT_TRUE(db->Put(leveldb::WriteOptions(), record.first, record.second).ok());
  }
}

std::string Gzip(const std::string& content) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(content.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(&packed[0]);
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Idx(const std::vector<int>& extents, const std::vector<int>& values) {
  std::string file = Bytes({0, 0, 8, static_cast<int>(extents.size())});
  for (int n : extents) file += Bytes({n >> 24, n >> 16, n >> 8, n});
  return file + Bytes(values);
}

std::string Png(int height, int width, int channels, const std::vector<int>& pixels) {
  const std::string bytes = Bytes(pixels);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = 0;
  EXPECT_TRUE(png_image_write_to_memory(&image, nullptr, &size, 0, bytes.data(), 0, nullptr));
  std::string file(size, '\0');
  EXPECT_TRUE(png_image_write_to_memory(&image, &file[0], &size, 0, bytes.data(), 0, nullptr));
  file.resize(size);
  return OnlyPixels(file);
}

std::string AnyPng(int width, PngKind kind, std::vector<std::string> rows) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp to, png_bytep bytes, size_t count) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<char*>(bytes), count);
  };
  png_set_write_fn(png, &file, append, [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(rows.size()),
               kind.bits, kind.color_type, kind.interlaced ? PNG_INTERLACE_ADAM7 : 0, 0, 0);
  if (kind.color_type == PNG_COLOR_TYPE_PALETTE) {
    std::vector<png_color> palette;
    for (int i = 0; i < 1 << kind.bits; ++i) {
      const auto light = [i](int first) { return static_cast<png_byte>(first + 30 * i); };
      palette.push_back({light(10), light(20), light(30)});
    }
    const png_byte alphas[] = {0, 128};
    png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
    png_set_tRNS(png, info, alphas, 2, nullptr);
  }
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  for (std::string& row : rows) pointers.push_back(reinterpret_cast<png_bytep>(&row[0]));
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string Jpeg(const JpegKind& kind, const std::vector<int>& pixels) {
  std::string bytes = Bytes(pixels);
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;  // NOLINT: libjpeg's type
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(kind.width);
  info.image_height = static_cast<JDIMENSION>(kind.height);
  info.input_components = kind.channels;
  info.in_color_space = kind.channels == 1   ? JCS_GRAYSCALE
                        : kind.channels == 3 ? JCS_RGB
                                             : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, kind.quality, TRUE);
  if (kind.channels == 3) {
    info.comp_info[0].h_samp_factor = kind.across;
    info.comp_info[0].v_samp_factor = kind.down;
  }
  if (kind.progressive) jpeg_simple_progression(&info);
  info.restart_interval = kind.restart;
  jpeg_start_compress(&info, TRUE);
  const auto row_bytes = static_cast<size_t>(kind.width * kind.channels);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = reinterpret_cast<JSAMPROW>(&bytes[info.next_scanline * row_bytes]);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string file(reinterpret_cast<char*>(memory), size);
  jpeg_destroy_compress(&info);
  free(memory);
  return file;
}

std::string RawDatum(int channels, int height, int width, const std::vector<int>& bytes,
                     int label) {
  Datum datum;
  datum.set_channels(channels);
  datum.set_height(height);
  datum.set_width(width);
  datum.set_data(Bytes(bytes));
  datum.set_label(label);
  return datum.SerializeAsString();
}

std::string EncodedDatum(const std::string& image, int label) {
  Datum datum;
  datum.set_encoded(true);
  datum.set_data(image);
  datum.set_label(label);
  return datum.SerializeAsString();
}

}  // namespace doppio
