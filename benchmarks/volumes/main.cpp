// What patches of volumes cost, augmented or only read, beside bare threads that do the same work.
#include <headrace/benchmarks/peers/images/serve.h>
#include <headrace/benchmarks/volumes/augmented.h>
#include <headrace/benchmarks/volumes/augmented_rows.h>
#include <headrace/benchmarks/volumes/reading.h>
#include <headrace/benchmarks/volumes/reading_rows.h>
#include <headrace/engine/base/error.h>

#include <cstdio>
#include <string>

using namespace headrace;
using namespace headrace::bench;

namespace {

StoredVolume stored_volume(const Work& work, const std::string& file) {
  for (StoredVolume& each : stored_volumes(work))
    if (each.path.filename() == file) return std::move(each);
  throw ConfigError("[benchmark] no volume " + file + " in " + work.folder.string());
}

/// A contender of compare.py: "nnunet", "surface", or a file of the folder that is read.
int serve_contender(const Work& work, const Options& options) {
  const std::string& what = options.text("serve");
  Request request;
  request.batch = work.batch;
  request.batches = options.number("batches");
  if (what.find('.') == std::string::npos) {
    AugmentedLoader loader(work, {.what = augmented_of(what),
                                  .patches = request.batch * request.batches,
                                  .cache_share = options.real("cache")});
    return serve(request, [&](const OnBatch& on_batch) { loader.epoch(on_batch); });
  }
  PatchReading reading(stored_volume(work, what), work, options.real("cache"));
  return serve_whole(request, [&] {
    if (options.is_set("cold")) reading.make_cold();
    const double begun = seconds();
    reading.read(request.batch * request.batches);
    return seconds() - begun;
  });
}

}  // namespace

int main(int argc, char** argv) {
  Options options("volumes_benchmark", "What do patches of volumes cost, augmented or only read?");
  add_work(options);
  options.add("section", "all", "augmented, reading or all")
      .add("patches", "64", "of a round")
      .add("repeats", "7", "rounds in turn")
      .add_flag("prepare", "makes the data and ends")
      .add("serve", "", "is a contender of benchmarks/volumes/run")
      .add("batches", "16", "of an epoch of that")
      .add("cache", "1", "share of the data that it holds")
      .add_flag("cold", "and whether its files are cold")
      .add_json();
  options.parse(argc, argv);
  try {
    const Work work(options);
    prepare(work);
    if (options.is_set("prepare")) return 0;
    if (options.is_set("serve")) return serve_contender(work, options);
    Report report("volumes_benchmark", options);
    const int repeats = options.number("repeats");
    const int patches = options.number("patches");
    if (options.asks_for("section", "augmented")) report_augmented(work, patches, repeats, report);
    if (options.asks_for("section", "reading")) report_reading(work, patches, repeats, report);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
