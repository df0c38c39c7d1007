#include <headrace/apps/commands/pack_images.h>

#include <headrace/apps/commands/record_progress.h>
#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/loaders/image/pack/verify_pack.h>
#include <headrace/monitor/format.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::format_seconds;

int threads_of(int wanted) {
  return wanted > 0 ? wanted : usable_cores();
}

void print_summary(const PackProgress& done, const std::filesystem::path& file, double seconds) {
  fmt::print("{}: {} images", file.string(), done.records - done.skipped);
  if (done.crop_indexed > 0) fmt::print(" ({} crop-indexed)", done.crop_indexed);
  if (done.skipped > 0) fmt::print(", {} bad ones left out", done.skipped);
  if (done.resumed > 0) fmt::print(", {} of them from an earlier run", done.resumed);
  fmt::print(", {} from {} of files, {}\n", format_bytes(done.bytes),
             format_bytes(done.input_bytes), format_seconds(seconds));
}

}  // namespace

ExitCode pack_images_command(const PackImagesOptions& options) {
  const auto source = open_listed_images({.data = options.data,
                                          .masks = options.masks,
                                          .mask_suffix = options.mask_suffix,
                                          .root = options.root});
  StopSignals signals;
  RecordProgress view("pack", source->size());
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

ExitCode pack_verify_command(const PackVerifyOptions& options) {
  const ImagePack pack(options.pack);
  std::shared_ptr<const ListedImages> originals;
  if (!options.data.empty()) {
    originals = open_listed_images({.data = options.data,
                                    .masks = options.masks,
                                    .mask_suffix = options.mask_suffix,
                                    .root = options.root});
  }
  StopSignals signals;
  RecordProgress view("verify", pack.size());
  const PackCheck check =
      verify_pack(pack, originals.get(),
                  {.crops = options.crops,
                   .seed = options.seed,
                   .threads = threads_of(options.threads),
                   .stop = signals.token(),
                   .on_progress = [&](std::int64_t done) { view.show(done, 0, ""); }});
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

}  // namespace headrace::inline v1::app
