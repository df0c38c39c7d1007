#include <headrace/benchmarks/volumes/augmented.h>
#include <headrace/benchmarks/volumes/augmented_rows.h>
#include <headrace/benchmarks/volumes/plain_trilinear.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

namespace headrace::inline v1::bench {

namespace {

constexpr const char* unit = "patches/s";

std::string title_of(const Work& work) {
  return fmt::format("patches of {}", fmt::join(work.patch, " x "));
}

Contender loading(const std::string& name, const Work& work, const AugmentedOptions& options) {
  const auto loader = std::make_shared<AugmentedLoader>(work, options);
  return {name, [loader] { return loader->epoch(); }};
}

Contender plainly(const std::string& name, const Work& work, std::int64_t patches, bool labels) {
  Voxels image = voxels_of_file(work.folder / "image.nii");
  const auto values = mean_and_deviation(image);
  Voxels label = labels ? voxels_of_file(work.folder / "label.nii") : Voxels{};
  const auto plain =
      std::make_shared<const PlainTrilinear>(std::move(image), std::move(label), values);
  const auto seed = std::make_shared<std::uint64_t>(0);
  return {name, [=] { return cut_on_threads(*plain, work, patches, (*seed)++); }};
}

/// The most that the process has held so far, MiB.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

std::string told_of_augmented(const BlockCacheStats& stats) {
  return fmt::format("decoded {:.3f} bytes a byte delivered, {:.1f} % of pins hit",
                     stats.read_amplification(), 100 * stats.hit_rate());
}

// First of all, so that the process holds nothing else.
void report_memory(const Work& work, const AugmentedOptions& options, Report& report) {
  AugmentedLoader loader(work, options);
  loader.epoch();
  report.add({figure(title_of(work) + ": peak of the process's memory",
                     "nnU-Net's, cache of all data", "MiB", {peak_mib()})});
}

// What is decoded again where the cache does not hold all.
void report_caches(const Work& work, std::int64_t patches, int repeats, Report& report) {
  const std::string section = title_of(work) + ": nnU-Net's, by the cache";
  std::vector<Row> rows;
  for (const double share : {1.0, 0.25}) {
    const auto loader = std::make_shared<AugmentedLoader>(
        work, AugmentedOptions{.patches = patches, .cache_share = share});
    const auto name = fmt::format("cache of {} % of the data", 100 * share);
    const auto rates = compare({{name, [loader] { return loader->epoch(); }}}, repeats);
    rows.push_back({.section = section,
                    .contender = name,
                    .unit = unit,
                    .median = rates[0].median,
                    .low = rates[0].low,
                    .high = rates[0].high,
                    .repeats = repeats,
                    .note = told_of_augmented(loader->cache_stats())});
  }
  report.add(std::move(rows));
}

// Whether large patches keep all threads busy where few of them are in flight: CPU beside rate.
void report_single(Work work, std::int64_t patches, int repeats, Report& report) {
  work.patch = {128, 128, 128};
  work.batch = 1;
  const auto ahead = [&](int threads, int prefetch) {
    work.threads = threads;
    return loading(fmt::format("{} threads, {} batches ahead", threads, prefetch), work,
                   {.what = Augmented::spatial, .patches = patches, .prefetch = prefetch});
  };
  const int threads = work.threads;
  report.add(title_of(work) + ": turned and scaled, batches of 1", unit,
             compare({ahead(1, 4), ahead(threads, 1), ahead(threads, 4)}, repeats),
             "1 threads, 4 batches ahead");
}

}  // namespace

void report_augmented(const Work& work, std::int64_t patches, int repeats, Report& report) {
  const auto options = [&](Augmented what, bool with_labels = true) {
    return AugmentedOptions{.what = what, .patches = patches, .with_labels = with_labels};
  };
  report_memory(work, options(Augmented::nnunet), report);
  report.add(title_of(work) + ": image and label", unit,
             compare({plainly("one plain trilinear pass (limit)", work, patches, true),
                      loading("nnU-Net's", work, options(Augmented::nnunet)),
                      loading("every patch changed", work, options(Augmented::surface)),
                      loading("turned and scaled", work, options(Augmented::spatial)),
                      loading("cut out", work, options(Augmented::copied))},
                     repeats),
             "one plain trilinear pass (limit)");
  report.add(title_of(work) + ": image alone", unit,
             compare({plainly("one plain trilinear pass (limit)", work, patches, false),
                      loading("turned and scaled", work, options(Augmented::spatial, false)),
                      loading("cut out", work, options(Augmented::copied, false))},
                     repeats),
             "one plain trilinear pass (limit)", {std::nullopt, at_least(0.60), std::nullopt});
  report_single(work, patches, repeats, report);
  report_caches(work, patches, repeats, report);
}

}  // namespace headrace::inline v1::bench
