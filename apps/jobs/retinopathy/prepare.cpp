#include <headrace/apps/feed/fashion_mnist.h>
#include <headrace/apps/jobs/retinopathy/prepare.h>
#include <headrace/apps/run/make_folder.h>
#include <headrace/apps/run/parallel_for.h>
#include <headrace/apps/run/prepared_folder.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/tensor.h>
#include <headrace/loaders/idx/idx_file.h>
#include <headrace/loaders/image/jpeg_writer.h>
#include <headrace/loaders/image/resize.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// Folders of the classes: five of Fashion-MNIST that are easily confused. Sorted, they are in the
// order of the classes.
constexpr std::array<std::string_view, 5> garment_folders{"0_tshirt", "1_pullover", "2_dress",
                                                          "3_coat", "4_shirt"};

// A picture of Fashion-MNIST and the file that it becomes.
struct Garment {
  std::string file;            // "train/0_tshirt/00017.jpg", with its row in the IDX file
  const std::uint8_t* pixels;  // uint8 [28, 28], of the images that it was chosen from
};

// Pictures of a class for one part of the data.
struct GarmentPart {
  std::string_view folder{};  // "train"
  std::int64_t first = 0;     // of the class's pictures in file order
  std::int64_t count = 0;
};

constexpr std::int64_t garment_pixels = std::int64_t{28} * 28;
// T-shirt, pullover, dress, coat, shirt.
constexpr std::array<std::uint8_t, garment_folders.size()> labels_of_classes{0, 2, 3, 4, 6};
constexpr std::array<std::int64_t, garment_folders.size()> eyepacs{25810, 2443, 5292, 873, 708};

// How many training pictures each class has: the first `largest`, the others in the ratio of
// EyePACS's five grades (25810 : 2443 : 5292 : 873 : 708), rounded to the nearest, at least 1.
std::array<std::int64_t, garment_folders.size()> garment_counts(std::int64_t largest) {
  std::array<std::int64_t, garment_folders.size()> counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t nearest = (2 * largest * eyepacs[i] + eyepacs[0]) / (2 * eyepacs[0]);
    counts[i] = std::max<std::int64_t>(1, nearest);
  }
  return counts;
}

// A part of class `number` out of images [N, 28, 28] with these labels [N]. Throws DataError where
// there are too few.
std::vector<Garment> garments_of(const Tensor& images, const Tensor& labels, std::size_t number,
                                 const GarmentPart& part) {
  std::vector<Garment> garments;
  const auto of_rows = labels.values<std::uint8_t>();
  std::int64_t seen = 0;
  for (std::size_t row = 0; row < of_rows.size(); ++row) {
    if (of_rows[row] != labels_of_classes[number]) continue;
    const std::int64_t place = seen++ - part.first;
    if (place < 0 || place >= part.count) continue;
    garments.push_back(
        {.file = fmt::format("{}/{}/{:05}.jpg", part.folder, garment_folders[number], row),
         .pixels = images.data<std::uint8_t>() + static_cast<std::int64_t>(row) * garment_pixels});
  }
  if (static_cast<std::int64_t>(garments.size()) == part.count) return garments;
  throw DataError(
      fmt::format("[prepare] Fashion-MNIST must have {} pictures of class {} for {}, got {} in all",
                  part.first + part.count, garment_folders[number], part.folder, seen));
}

namespace fs = std::filesystem;

constexpr int original_side = 28;
constexpr std::int64_t pool = 6000;  // Training pictures of a class.

struct PrepareOptions {
  fs::path output{};
  int side = 256;
  int quality = 95;
  int limit = 0;  // Most training pictures of the largest class; 0: all that are not validation.
  int validation = 250;
  int test = 1000;
  int threads = 0;
};

void add(CLI::App& line, PrepareOptions& options) {
  line.add_option("--output", options.output, "Folder to write, with train, val and test")
      ->required();
  line.add_option("--side", options.side, "Height and width of a picture, in pixels")
      ->check(CLI::Range(16, 1024))
      ->capture_default_str();
  line.add_option("--quality", options.quality, "Of the JPEG files")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  line.add_option("--limit", options.limit,
                  "Most training pictures of the largest class, the others in EyePACS's ratio; 0: "
                  "all but the validation's")
      ->check(CLI::Range(0, 6000))
      ->capture_default_str();
  line.add_option("--validation", options.validation,
                  "Validation pictures a class, none of which is trained on")
      ->check(CLI::Range(1, 3000))
      ->capture_default_str();
  line.add_option("--test", options.test, "Test pictures a class")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_threads(line, options.threads);
}

constexpr std::array parts{"train", "val", "test"};

void say(std::string_view line) {
  fmt::print(stderr, "prepare retinopathy: {}\n", line);
}

/// Bilinear, then in three channels as a photograph has them.
std::vector<std::byte> jpeg_of(const std::uint8_t* pixels, int side, int quality) {
  const ResizeAxis axis{.length = original_side, .last = original_side, .out = side};
  const auto count = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  std::vector<std::uint8_t> grey(count);
  resize_channels({.data = pixels, .stride = original_side}, 1, axis, axis, Resample::antialias,
                  grey.data());
  std::vector<std::uint8_t> rgb(3 * count);
  for (std::size_t i = 0; i < count; ++i)
    std::fill_n(rgb.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, grey[i]);
  return encode_jpeg(rgb.data(), side, side, quality);
}

class PrepareRetinopathy {
 public:
  explicit PrepareRetinopathy(const PrepareOptions& options)
      : options_(options), files_(find_fashion_mnist(say)) {}

  ExitCode run() {
    const PreparedFolder folder({.name = "retinopathy",
                                 .output = options_.output,
                                 .parts = {parts.begin(), parts.end()},
                                 .recipe = recipe()});
    const bool made = folder.make([this](const fs::path& root) { return fill(root); });
    say(made ? made_
             : fmt::format("{} holds the pictures already, made by the same recipe; kept",
                           options_.output.string()));
    return ExitCode::done;
  }

 private:
  std::int64_t largest() const {
    const std::int64_t left = pool - options_.validation;
    return options_.limit == 0 ? left : std::min<std::int64_t>(options_.limit, left);
  }

  std::string recipe() const {
    return fmt::format(
        "Fashion-MNIST {}, side {}, quality {}, largest class {}, validation {}, test {}",
        files_.digest, options_.side, options_.quality, largest(), options_.validation,
        options_.test);
  }

  std::string fill(const fs::path& root) {
    for (const char* part : parts)
      for (const std::string_view folder : garment_folders)
        make_folder("prepare", root / part / folder);
    const std::vector<Garment> garments = choose();
    Progress progress("prepare retinopathy", static_cast<std::int64_t>(garments.size()),
                      "pictures");
    parallel_for(garments.size(), threads_of(options_.threads), [&](std::size_t i) {
      write_prepared_file(root / garments[i].file,
                          jpeg_of(garments[i].pixels, options_.side, options_.quality));
      progress.show(static_cast<std::int64_t>(i) + 1);
    });
    progress.end();
    made_ =
        fmt::format("{}: {} pictures of {} x {} in {}", options_.output.string(), garments.size(),
                    options_.side, options_.side, monitor::format_seconds(progress.seconds()));
    return readme();
  }

  /// Of a class's training pictures the first are trained on and the last are the validation.
  std::vector<Garment> choose() {
    train_ = read_idx(files_.train_images);
    test_ = read_idx(files_.test_images);
    const Tensor train_labels = read_idx(files_.train_labels);
    const Tensor test_labels = read_idx(files_.test_labels);
    const auto counts = garment_counts(largest());
    std::vector<Garment> all;
    const auto take = [&](const Tensor& images, const Tensor& labels, std::size_t number,
                          const GarmentPart& part) {
      std::ranges::move(garments_of(images, labels, number, part), std::back_inserter(all));
    };
    for (std::size_t i = 0; i < garment_folders.size(); ++i) {
      take(train_, train_labels, i, {.folder = parts[0], .count = counts[i]});
      take(train_, train_labels, i,
           {.folder = parts[1], .first = pool - options_.validation, .count = options_.validation});
      take(test_, test_labels, i, {.folder = parts[2], .count = options_.test});
    }
    return all;
  }

  static std::string readme() {
    return "Five classes of Fashion-MNIST that are easily confused, in the layout of EyePACS "
           "(a folder a class) and\nwith the imbalance of its five grades in train; val and test "
           "are balanced. Made by `headrace prepare retinopathy`.\nA file's name is its picture's "
           "row in the IDX file, of the training images for train and val.\n"
           "Origin: Debian's dataset-fashion-mnist. Licence: MIT, Zalando SE; it holds for these "
           "files, too.\n";
  }

  const PrepareOptions& options_;
  FashionMnistFiles files_;
  Tensor train_{};
  Tensor test_{};
  std::string made_{};  ///< what is said of it at the end
};

ExitCode run(const PrepareOptions& options, const CommandCall&) {
  return PrepareRetinopathy(options).run();
}

}  // namespace

Command prepare_retinopathy_command() {
  return make_command("retinopathy",
                      "JPEG folders of five classes from Debian's Fashion-MNIST, in the imbalance "
                      "of EyePACS's grades",
                      add, run);
}

}  // namespace headrace::inline v1::app
