#include <headrace/apps/feed/fashion_mnist.h>
#include <headrace/apps/jobs/retinopathy/garments.h>
#include <headrace/apps/jobs/retinopathy/prepare.h>
#include <headrace/apps/run/make_folder.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/folder_lock.h>
#include <headrace/loaders/idx/idx_file.h>
#include <headrace/loaders/image/jpeg_writer.h>
#include <headrace/loaders/image/resize.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

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
constexpr std::string_view record = "recipe.txt";
constexpr std::string_view read_me = "README.txt";
constexpr std::string_view record_begins = "retinopathy 1: ";

void say(std::string_view line) {
  fmt::print(stderr, "prepare retinopathy: {}\n", line);
}

/// Without a slash at its end: what is made stands beside it.
fs::path whole_path(const fs::path& folder) {
  const fs::path path = fs::weakly_canonical(fs::absolute(folder));
  return path.has_filename() ? path : path.parent_path();
}

void write_file(const fs::path& file, std::span<const std::byte> bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out)
    throw ResourceError(fmt::format(
        "[prepare] {} must be written whole, which failed; is the disk full?", file.string()));
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
      : options_(options),
        output_(whole_path(options.output)),
        work_(output_.string() + ".unfinished"),
        replaced_(output_.string() + ".replaced"),
        files_(find_fashion_mnist(say)) {}

  ExitCode run() {
    if (is_done()) return ExitCode::done;
    for (const fs::path& folder : {output_, work_, replaced_})
      require_own(folder);
    make_folder("prepare", work_);
    const FolderLock lock(work_);
    if (lock.refused())
      throw ConfigError(fmt::format(
          "[prepare] {} must be made by one program at a time, another is at it; wait for that",
          output_.string()));
    if (is_done()) return ExitCode::done;  // by one that has ended meanwhile
    begin();
    const std::vector<Garment> garments = choose();
    Progress progress("prepare retinopathy", static_cast<std::int64_t>(garments.size()),
                      "pictures");
    write(garments, progress);
    progress.end();
    finish();
    say(fmt::format("{}: {} pictures of {} x {} in {}", options_.output.string(), garments.size(),
                    options_.side, options_.side, monitor::format_seconds(progress.seconds())));
    return ExitCode::done;
  }

 private:
  std::int64_t largest() const {
    const std::int64_t left = pool - options_.validation;
    return options_.limit == 0 ? left : std::min<std::int64_t>(options_.limit, left);
  }

  bool is_done() const {
    if (read_whole_text(output_ / record, "prepare") != record_text(output_)) return false;
    say(fmt::format("{} holds the pictures already, made by the same recipe; kept",
                    options_.output.string()));
    return true;
  }

  /// The recipe, and how many files of how many bytes each folder has.
  std::string record_text(const fs::path& root) const {
    std::string text = fmt::format(
        "{}Fashion-MNIST {}, side {}, quality {}, largest class {}, validation {}, test {}\n",
        record_begins, files_.digest, options_.side, options_.quality, largest(),
        options_.validation, options_.test);
    for (const char* part : parts) {
      for (const std::string_view folder : garment_folders) {
        std::uintmax_t bytes = 0;
        std::int64_t count = 0;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(root / part / folder, none)) {
          bytes += entry.file_size(none);
          ++count;
        }
        text += fmt::format("{}/{} {} {}\n", part, folder, count, bytes);
      }
    }
    return text;
  }

  /// What is to be replaced is nobody else's.
  void require_own(const fs::path& folder) const {
    std::error_code none;
    if (!fs::exists(folder, none) || (fs::is_directory(folder, none) && fs::is_empty(folder, none)))
      return;
    const auto own = [](const fs::directory_entry& entry) {
      const std::string name = entry.path().filename().string();
      return name == record || name == read_me || std::ranges::find(parts, name) != parts.end();
    };
    if (read_whole_text(folder / record, "prepare").starts_with(record_begins) &&
        std::all_of(fs::directory_iterator(folder, none), fs::directory_iterator(), own))
      return;
    throw ConfigError(
        fmt::format("[prepare] {} must be empty, or made by prepare retinopathy and hold nothing "
                    "else, got something else; name another folder",
                    folder.string()));
  }

  /// Made beside the folder and renamed at the end: nobody takes a half for a data set.
  void begin() const {
    for (const char* part : parts)
      remove(work_ / part);
    write_file_atomically(work_ / record, fmt::format("{}not finished\n", record_begins),
                          {.who = "prepare"});
    for (const char* part : parts)
      for (const std::string_view folder : garment_folders)
        make_folder("prepare", work_ / part / folder);
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

  void write(const std::vector<Garment>& garments, Progress& progress) const {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failed;
    std::mutex mutex;
    const auto work = [&] {
      try {
        for (std::size_t i = next++; i < garments.size(); i = next++) {
          write_file(work_ / garments[i].file,
                     jpeg_of(garments[i].pixels, options_.side, options_.quality));
          progress.show(static_cast<std::int64_t>(i) + 1);
        }
      } catch (...) {
        next = garments.size();
        const std::lock_guard lock(mutex);
        failed = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> helpers;
      for (int i = 1; i < threads_of(options_.threads); ++i)
        helpers.emplace_back(work);
      work();
    }
    if (failed) std::rethrow_exception(failed);
  }

  void finish() const {
    const auto write_text = [&](std::string_view name, const std::string& text) {
      write_file_atomically(work_ / name, text, {.who = "prepare"});
    };
    write_text(read_me, readme());
    write_text(record, record_text(work_));
    if (const int folder = ::open(work_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
      ::syncfs(folder);  // the pictures before their name
      ::close(folder);
    }
    remove(replaced_);
    std::error_code failed;
    if (fs::exists(output_)) fs::rename(output_, replaced_, failed);
    if (!failed) fs::rename(work_, output_, failed);
    if (failed)
      throw ResourceError(fmt::format("[prepare] {} must be replaced by {}, which failed: {}",
                                      output_.string(), work_.string(), failed.message()));
    remove(replaced_);
  }

  /// The record last: what is left of it after an interrupt is still known for what it is.
  static void remove(const fs::path& folder) {
    std::error_code failed;
    for (const char* part : parts)
      if (!failed) fs::remove_all(folder / part, failed);
    if (!failed) fs::remove_all(folder, failed);
    if (failed)
      throw ResourceError(fmt::format("[prepare] {} must be removed, which failed: {}",
                                      folder.string(), failed.message()));
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
  fs::path output_;
  fs::path work_;
  fs::path replaced_;
  FashionMnistFiles files_;
  Tensor train_{};
  Tensor test_{};
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
