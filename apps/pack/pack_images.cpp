#include <headrace/apps/inspect/image_data_options.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/monitor/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::format_seconds;

struct PackImagesOptions {
  ImageData images{};
  std::filesystem::path output{};
  bool crop_index = false;
  int segment = 64;      // Pixels between two places where a crop may begin.
  int longest_side = 0;  // 0: as it is.
  int quality = 90;
  std::size_t alignment = 4096;
  int threads = 0;
  bool skip_bad = false;
};

void add_encoding(CLI::App& line, PackImagesOptions& options) {
  line.add_flag("--crop-index", options.crop_index,
                "Rewrite JPEG files losslessly so that a crop costs what the crop costs");
  line.add_option("--segment", options.segment, "Pixels between two places where a crop may begin")
      ->check(CLI::Range(8, 65535))
      ->capture_default_str();
  line.add_option("--longest-side", options.longest_side,
                  "Shrink larger images to this side and encode them anew; 0: as they are")
      ->check(CLI::Range(0, 65535));
  line.add_option("--quality", options.quality, "JPEG quality of shrunk images")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
}

void add(CLI::App& line, PackImagesOptions& options) {
  line.add_option("DATA", options.images.data,
                  "Folder with one folder per class, or manifest (.csv, .tsv, .jsonl)")
      ->required();
  line.add_option("OUTPUT", options.output, "File to write")->required();
  add_image_data(line, options.images);
  add_encoding(line, options);
  line.add_option("--alignment", options.alignment, "Of records, bytes: a power of two")
      ->check(CLI::Range(8, 1 << 20))
      ->capture_default_str();
  add_threads(line, options.threads);
  line.add_flag("--skip-bad", options.skip_bad, "Leave bad images out and say which");
}

void print_summary(const PackProgress& done, const std::filesystem::path& file, double seconds) {
  fmt::print("{}: {} images", file.string(), done.records - done.skipped);
  if (done.crop_indexed > 0) fmt::print(" ({} crop-indexed)", done.crop_indexed);
  if (done.skipped > 0) fmt::print(", {} bad ones left out", done.skipped);
  if (done.resumed > 0) fmt::print(", {} of them from an earlier run", done.resumed);
  fmt::print(", {} from {} of files, {}\n", format_bytes(done.bytes),
             format_bytes(done.input_bytes), format_seconds(seconds));
}

ExitCode run(const PackImagesOptions& options, const CommandCall&) {
  const auto source = open_listed_images(options.images);
  StopSignals signals;
  Progress view("pack", source->size(), "images");
  PackOptions pack{.file = options.output,
                   .crop_index = options.crop_index,
                   .index = {.segment_pixels = options.segment},
                   .longest_side = options.longest_side,
                   .quality = options.quality,
                   .alignment = options.alignment,
                   .threads = threads_of(options.threads),
                   .skip_bad = options.skip_bad,
                   .stop = signals.token()};
  pack.on_bad = [&](std::int64_t index, const std::string& reason) {
    if (options.skip_bad) view.say("left out: " + source->origin(index) + ": " + reason);
  };
  pack.on_progress = [&](const PackProgress& progress) {
    view.show(progress.records, progress.resumed, ", " + format_bytes(progress.bytes));
  };
  const PackProgress done = pack_images(*source, pack);
  view.end();
  if (done.records < done.all_records) {
    fmt::print(stderr, "pack: stopped after {} of {} images; the same command goes on there\n",
               done.records, done.all_records);
    return signals.exit_code();
  }
  print_summary(done, options.output, view.seconds());
  return ExitCode::done;
}

}  // namespace

// Writes a data set into one file, or goes on with one begun before.
Command pack_images_command() {
  return make_command<PackImagesOptions>(
      "images", "Write images into one file; the same command goes on after an interruption", add,
      run);
}

}  // namespace headrace::inline v1::app
