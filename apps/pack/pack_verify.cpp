#include <headrace/apps/inspect/image_data_options.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/image/pack/verify_pack.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

struct PackVerifyOptions {
  std::filesystem::path pack{};
  ImageData images{};  // The originals; without data only checksums and decoding.
  int crops = 4;       // Of each image.
  std::uint64_t seed = 0;
  int threads = 0;
};

void add(CLI::App& line, PackVerifyOptions& options) {
  line.add_option("PACK", options.pack, "Pack to check")->required();
  line.add_option("DATA", options.images.data, "What it was made from");
  add_image_data(line, options.images);
  line.add_option("--crops", options.crops, "Random crops of each image")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  line.add_option("--seed", options.seed, "Of the crops")->capture_default_str();
  add_threads(line, options.threads);
}

ExitCode run(const PackVerifyOptions& options, const CommandCall&) {
  const ImagePack pack(options.pack);
  std::shared_ptr<const ListedImages> originals;
  if (!options.images.data.empty()) originals = open_listed_images(options.images);
  StopSignals signals;
  Progress view("verify", pack.size(), "images");
  const PackCheck check = verify_pack(pack, originals.get(),
                                      {.crops = options.crops,
                                       .seed = options.seed,
                                       .threads = threads_of(options.threads),
                                       .stop = signals.token(),
                                       .on_progress = [&](std::int64_t done) { view.show(done); }});
  view.end();
  for (const std::string& problem : check.problems)
    view.say(problem);
  fmt::print("{}: {} of {} images read, {} crops compared with the originals",
             options.pack.string(), check.records, pack.size(), check.crops);
  if (check.shrunk > 0) fmt::print(", {} shrunk ones only decoded", check.shrunk);
  fmt::print(", {}\n", check.damaged == 0 ? "all right" : fmt::format("{} wrong", check.damaged));
  if (check.damaged > 0) return ExitCode::data;
  return signals.exit_code();
}

}  // namespace

// Reads a pack through and, where the originals are named, compares pixels. ExitCode::data when
// anything is wrong.
Command pack_verify_command() {
  return make_command<PackVerifyOptions>(
      "verify", "Read a pack through; with the originals, compare the pixels of random crops", add,
      run);
}

}  // namespace headrace::inline v1::app
