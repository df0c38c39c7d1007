#include <headrace/benchmarks/loader/bare.h>
#include <headrace/benchmarks/loader/workload.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

#include <jpeglib.h>

namespace headrace::inline v1::bench {

namespace {

/// Octaves of smoothed noise: the spectrum of a photograph, about one and a half bits a pixel.
class Picture {
 public:
  Picture(int width, int height, std::uint64_t seed) {
    for (int octave = 0; octave < octaves; ++octave) {
      Lattice& lattice = lattices_[static_cast<std::size_t>(octave)];
      lattice.across = (width >> octave) + 2;
      Random random({.seed = seed, .operation = static_cast<std::uint32_t>(octave)});
      lattice.corners.resize(
          static_cast<std::size_t>(lattice.across * ((height >> octave) + 2) * 3));
      for (float& corner : lattice.corners)
        corner = static_cast<float>(random.uniform(-1.0, 1.0));
    }
  }

  std::uint8_t at(int x, int y, int channel) const {
    float value = 128;
    float weight = 70;
    for (int octave = octaves - 1; octave >= 0; --octave) {
      value += weight * smooth(x, y, octave, octave > 2 ? channel : 0);
      weight *= 0.62F;
    }
    return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
  }

 private:
  static constexpr int octaves = 8;
  struct Lattice {
    int across = 0;
    std::vector<float> corners;
  };

  float smooth(int x, int y, int octave, int channel) const {
    const Lattice& lattice = lattices_[static_cast<std::size_t>(octave)];
    const int cell = 1 << octave;
    const auto corner = [&](int cx, int cy) {
      return lattice.corners[static_cast<std::size_t>((cy * lattice.across + cx) * 3 + channel)];
    };
    const float fx = static_cast<float>(x % cell) / static_cast<float>(cell);
    const float fy = static_cast<float>(y % cell) / static_cast<float>(cell);
    const int cx = x / cell;
    const int cy = y / cell;
    return std::lerp(std::lerp(corner(cx, cy), corner(cx + 1, cy), fx),
                     std::lerp(corner(cx, cy + 1), corner(cx + 1, cy + 1), fx), fy);
  }

  std::array<Lattice, octaves> lattices_;
};

void write_jpeg(const std::filesystem::path& file, int width, int height, std::uint64_t seed) {
  const Picture picture(width, height, seed);
  std::FILE* out = std::fopen(file.c_str(), "wb");
  if (out == nullptr) throw ConfigError("[benchmark] cannot write " + file.string());
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_stdio_dest(&jpeg, out);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 90, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(width) * 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c)
        row[static_cast<std::size_t>(3 * x + c)] = picture.at(x, y, c);
    }
    JSAMPROW line = row.data();
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::fclose(out);
}

/// Appends fields "row", filled part by part, and "label", the row's number.
void write_rows(Hdf5Writer& writer, std::int64_t rows, const FieldSpec& row, std::int64_t part,
                const std::function<void(Tensor&, Random&)>& fill) {
  for (std::int64_t first = 0; first < rows; first += part) {
    const std::int64_t count = std::min(part, rows - first);
    Tensor data = Tensor::empty(row.dtype, Shape{count, row.shape[0]});
    Tensor labels = Tensor::empty(DType::int64, Shape{count});
    Random random({.seed = 1, .position = first});
    fill(data, random);
    for (std::int64_t i = 0; i < count; ++i)
      labels.data<std::int64_t>()[i] = first + i;
    writer.append("row", data);
    writer.append("label", labels);
  }
  writer.finish();
}

}  // namespace

std::filesystem::path table_file(const std::filesystem::path& folder, std::int64_t rows,
                                 std::int64_t bytes) {
  std::filesystem::create_directories(folder);
  const auto file = folder / ("rows-" + std::to_string(rows) + "x" + std::to_string(bytes) + ".h5");
  if (std::filesystem::exists(file)) return file;
  Hdf5Writer writer(file);
  const FieldSpec row = FieldSpec::fixed("row", DType::uint8, Shape{bytes});
  writer.add(row.name, row.dtype, rows, row.shape);
  writer.add("label", DType::int64, rows, Shape{});
  write_rows(writer, rows, row, 8192, [](Tensor& data, Random& random) {
    for (std::int64_t i = 0; i + 4 <= data.elements(); i += 4) {
      const std::uint32_t bits = random();
      std::copy_n(reinterpret_cast<const std::uint8_t*>(&bits), 4, data.data<std::uint8_t>() + i);
    }
  });
  return file;
}

std::shared_ptr<const Hdf5Table> table(const std::filesystem::path& folder, std::int64_t rows,
                                       std::int64_t bytes) {
  Hdf5TableOptions options;
  options.file = table_file(folder, rows, bytes);
  options.fields = {{"row", "/row"}, {"label", "/label"}};
  options.memory = 8_GiB;
  options.residence = Residence::resident;
  return std::make_shared<const Hdf5Table>(std::move(options));
}

std::filesystem::path chunked_file(const std::filesystem::path& folder, std::int64_t rows,
                                   std::int64_t bytes) {
  std::filesystem::create_directories(folder);
  const auto file =
      folder / ("chunks-" + std::to_string(rows) + "x" + std::to_string(bytes) + ".h5");
  if (std::filesystem::exists(file)) return file;
  Hdf5Writer writer(file);
  const FieldSpec row = FieldSpec::fixed("row", DType::float16, Shape{bytes / 2});
  writer.add(row.name, row.dtype, rows, row.shape,
             {.chunk_rows = chunk_rows, .codec = Hdf5Codec::zstd});
  writer.add("label", DType::int64, rows, Shape{});
  write_rows(writer, rows, row, chunk_rows, [](Tensor& data, Random& random) {
    auto* bits = static_cast<std::uint16_t*>(data.raw());
    // -32 to -64 in steps of 1/32: decibels whose low byte is noise.
    for (std::int64_t i = 0; i < data.elements(); ++i)
      bits[i] = static_cast<std::uint16_t>(0xd000U | (random() >> 22U));
  });
  return file;
}

std::filesystem::path picture_folder(const std::filesystem::path& folder, int files) {
  const auto root = folder / "pictures-500x375";
  for (const char* name : {"even", "odd"})
    std::filesystem::create_directories(root / name);
  std::atomic<int> next{0};
  in_threads(usable_cores(), [&](int) {
    for (int i = next++; i < files; i = next++) {
      const auto file = root / (i % 2 == 0 ? "even" : "odd") / (std::to_string(i) + ".jpg");
      if (std::filesystem::exists(file)) continue;
      auto unfinished = file;  // no picture: whoever is ended here leaves no half of one
      unfinished += ".part";
      write_jpeg(unfinished, 500, 375, static_cast<std::uint64_t>(i));
      std::filesystem::rename(unfinished, file);
    }
  });
  return root;
}

std::shared_ptr<const ImageFolder> pictures(const std::filesystem::path& folder, int files) {
  return std::make_shared<const ImageFolder>(picture_folder(folder, files));
}

DecodeImage decode_224() {
  return {.crop = RandomResizedCrop{224, 224}, .flip = 0.5F};
}

}  // namespace headrace::inline v1::bench
