// What a random crop of a photograph costs one thread: after a whole decode, decoded alone, from a
// crop-indexed file, and with the file read to its end first; and what the look behind the last row
// costs a whole decode. Files and windows are the same for all and in memory.
#include <headrace/benchmarks/harness/report.h>
#include <headrace/benchmarks/loader/workload.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/jpeg_decoder.h>
#include <headrace/loaders/image/make_crop_index.h>
#include <headrace/loaders/image/resize.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <vector>

using namespace headrace;
using namespace headrace::bench;

namespace {

using Bytes = std::vector<std::byte>;
using Pixels = std::vector<std::uint8_t>;

struct Pictures {
  std::vector<Bytes> files{};
  int side = 224;
  int crops = 4;  ///< of each picture

  Pixels target() const {
    return Pixels(3 * static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
  }
};

ImageWindow window_of(const ImageHeader& header, const Pictures& pictures, std::int64_t number) {
  Random random({.seed = order_seed, .position = number});
  return place(RandomResizedCrop{.height = pictures.side, .width = pictures.side},
               header.shown_width(), header.shown_height(), random);
}

/// Calls `work(file, number)` for every crop of every picture; returns how many those are.
template <class Work>
double each_crop(const Pictures& pictures, const Work& work) {
  std::int64_t number = 0;
  for (int i = 0; i < pictures.crops; ++i) {
    for (const Bytes& file : pictures.files)
      work(file, number++);
  }
  return static_cast<double>(number);
}

void crop_alone(const Pictures& pictures, const Bytes& file, std::int64_t number, bool prescale,
                Pixels& to) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  decoder.decode(
      window_of(header, pictures, number),
      {.rgb = to.data(), .height = pictures.side, .width = pictures.side, .prescale = prescale});
}

std::function<double()> crops_alone(const Pictures& pictures, bool prescale) {
  return [&pictures, prescale, to = pictures.target()]() mutable {
    return each_crop(pictures, [&](const Bytes& file, std::int64_t number) {
      crop_alone(pictures, file, number, prescale, to);
    });
  };
}

void crop_after_whole(const Pictures& pictures, const Bytes& file, std::int64_t number,
                      Pixels& to) {
  JpegDecoder& decoder = JpegDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  const ImageWindow window = window_of(header, pictures, number);
  const DecodedPixels pixels = decoder.decode({.width = header.width, .height = header.height}, 1);
  const Region& in = window.bounds;
  const int side = pictures.side;
  resize_to_rgb({pixels.data, pixels.stride, 0, 0},
                {window.x, window.width, in.x, in.x + in.width, side, false},
                {window.y, window.height, in.y, in.y + in.height, side, false}, Resample::antialias,
                to.data());
}

std::function<double()> crops_after_whole(const Pictures& pictures) {
  return [&pictures, to = pictures.target()]() mutable {
    return each_crop(pictures, [&](const Bytes& file, std::int64_t number) {
      crop_after_whole(pictures, file, number, to);
    });
  };
}

std::function<double()> crops_checked(const Pictures& pictures) {
  return [&pictures, to = pictures.target()]() mutable {
    return each_crop(pictures, [&](const Bytes& file, std::int64_t number) {
      ImageDecoder::this_thread().check(file);
      crop_alone(pictures, file, number, true, to);
    });
  };
}

/// All rows, and what follows them; or all but the last one, so that nothing behind them is looked
/// at. The data of the last row of MCUs is decoded either way.
std::function<double()> whole(const Pictures& pictures, int rows_left_out) {
  return [&pictures, rows_left_out] {
    return each_crop(pictures, [&](const Bytes& file, std::int64_t) {
      JpegDecoder& decoder = JpegDecoder::this_thread();
      const ImageHeader header = decoder.open(file);
      decoder.decode({.width = header.width, .height = header.height - rows_left_out}, 1);
    });
  };
}

Pictures read_pictures(const ImageFolder& folder, int crops) {
  Pictures pictures{.crops = crops};
  Sample sample;
  for (std::int64_t i = 0; i < folder.size(); ++i) {
    sample.reset();
    folder.read(i, sample);
    const auto* data = static_cast<const std::byte*>(sample["image"].raw());
    pictures.files.emplace_back(data, data + sample["image"].bytes());
  }
  return pictures;
}

Pictures indexed(const Pictures& pictures, int segment) {
  Pictures made{.side = pictures.side, .crops = pictures.crops};
  for (const Bytes& file : pictures.files)
    made.files.push_back(make_crop_indexed(file, {.segment_pixels = segment}));
  return made;
}

double kib(const Pictures& pictures) {
  double sum = 0;
  for (const Bytes& file : pictures.files)
    sum += static_cast<double>(file.size());
  return sum / 1024 / static_cast<double>(pictures.files.size());
}

/// A comparison of different pixels would be none.
void require_same_pixels(const Pictures& original, const Pictures& packed) {
  Pixels a = original.target();
  Pixels b = original.target();
  for (std::size_t i = 0; i < original.files.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    for (const bool prescale : {false, true}) {
      crop_alone(original, original.files[i], number, prescale, a);
      crop_alone(packed, packed.files[i], number, prescale, b);
      if (a == b) continue;
      std::fprintf(stderr, "picture %zu: the crop-indexed pixels are others\n", i);
      std::exit(1);
    }
    crop_alone(original, original.files[i], number, false, a);
    crop_after_whole(original, original.files[i], number, b);
    if (a == b) continue;
    std::fprintf(stderr, "picture %zu: the crop's pixels are not those of the whole\n", i);
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options("crop_benchmark", "What does a random crop of a photograph cost one thread?");
  options.add("data", "", "folder of classes of JPEG files; none: 64 made ones of 500 x 375")
      .add("cache", "/tmp/headrace-bench", "where made pictures are kept")
      .add("crops", "4", "of each picture and round")
      .add("segment", "64", "pixels between two places where a part may begin")
      .add("repeats", "7", "rounds in turn")
      .add("only", "", "the contender of this name, for a profiler")
      .add_json();
  options.parse(argc, argv);
  const std::string& data = options.text("data");
  const ImageFolder folder(data.empty() ? picture_folder(options.text("cache"), 64)
                                        : std::filesystem::path(data));
  const Pictures original = read_pictures(folder, options.number("crops"));
  const Pictures packed = indexed(original, options.number("segment"));
  require_same_pixels(original, packed);
  Report report("crop_benchmark", options);
  std::printf("%zu pictures; a file has %.1f KiB, crop-indexed %.1f KiB; one thread\n",
              original.files.size(), kib(original), kib(packed));
  std::vector<Contender> contenders = {
      {"whole decode, then crop and resize", crops_after_whole(original)},
      {"crop of the original, full scale", crops_alone(original, false)},
      {"crop of the original", crops_alone(original, true)},
      {"crop-indexed, full scale", crops_alone(packed, false)},
      {"crop-indexed", crops_alone(packed, true)},
      {"crop of the original, read to its end first", crops_checked(original)}};
  const std::string& only = options.text("only");
  std::string reference = contenders[2].name;
  if (!only.empty()) {
    std::erase_if(contenders, [&](const Contender& contender) { return contender.name != only; });
    reference = only;
  }
  report.add("random-resized crop to 224, antialiased", "crops/s",
             compare(contenders, options.number("repeats")), reference);
  if (!only.empty()) return 0;
  report.add("the look at what follows the last row", "pictures/s",
             compare({{"all rows but the last", whole(original, 1)},
                      {"all rows, and the look", whole(original, 0)}},
                     options.number("repeats")),
             "all rows but the last");
  return 0;
}
