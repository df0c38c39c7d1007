#include <headrace/benchmarks/loader/scaling.h>
#include <headrace/benchmarks/loader/workload.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::bench {

namespace {

/// Work that scales with threads: the limit, and ours.
struct Work {
  std::string title;
  std::string unit;
  std::function<std::function<double()>(int threads)> bare;
  std::function<std::function<double()>(int threads)> ours;
};

std::string in_words(int threads) {
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

LoaderOptions on(int threads) {
  LoaderOptions options;
  options.runtime = Runtime({.threads = threads});
  return options;
}

Work of_pictures(const std::filesystem::path& folder, int files) {
  const auto source = pictures(folder, files);
  return {.title = "JPEG 500x375, random-resized crop to 224, flip, batch of 64",
          .unit = "images/s",
          .bare = [=](int threads) { return bare_pictures(source, 64, threads); },
          .ours =
              [=](int threads) {
                return through_loader(Pipeline::from(source)
                                          .order(passes(*source))
                                          .then(decode_224())
                                          .batch({.size = 64}),
                                      on(threads));
              }};
}

Work of_rows(const std::filesystem::path& folder, std::int64_t rows) {
  constexpr std::int64_t batch = 8192;
  const auto source = table(folder, rows, 640);
  return {.title = "rows of 640 bytes and a label, resident, random order, batch of 8192",
          .unit = "rows/s",
          .bare = [=](int threads) { return bare_rows(source, batch, 256, threads); },
          .ours =
              [=](int threads) {
                return through_loader(
                    Pipeline::from(source).order(passes(*source)).batch({.size = batch}),
                    on(threads));
              }};
}

Work of_chunks(const std::filesystem::path& folder, std::int64_t rows) {
  constexpr std::int64_t batch = 8192;
  const auto file = chunked_file(folder, rows, 640);
  // Labels and the chunks of a few windows: each pass decodes nearly all of them again.
  const auto memory = static_cast<std::size_t>(rows) * 8 + 8_MiB;
  const auto source = std::make_shared<const Hdf5Table>(
      Hdf5TableOptions{.file = file,
                       .fields = {{.dataset = "row"}, {.dataset = "label"}},
                       .memory = memory,
                       .residence = Residence::cached});
  const ShuffledByChunk order{
      .seed = order_seed, .chunk = chunk_rows, .window = 16, .epoch_size = 4 * rows};
  return {.title = "rows of 640 bytes in chunks of 256, Zstandard and shuffle, order by chunk",
          .unit = "rows/s",
          .bare = [=](int threads) { return bare_chunks(file, threads); },
          .ours =
              [=](int threads) {
                return through_loader(Pipeline::from(source).order(order).batch({.size = batch}),
                                      on(threads));
              }};
}

Row as_share(const Work& work, const Rates& rates, int threads, double one) {
  const double linear = one * threads;
  return {.section = work.title + ": of as many times one thread",
          .contender = rates.name + ", " + in_words(threads),
          .unit = "share",
          .median = rates.median / linear,
          .low = rates.low / linear,
          .high = rates.high / linear,
          .repeats = rates.repeats,
          .reference = rates.name + ", 1 thread",
          .ratio = rates.median / linear};
}

void scale(const Work& work, const Options& options, Report& report) {
  constexpr double goal = 0.9;
  const std::vector<double> counts = options.list("threads");
  const int most = static_cast<int>(*std::ranges::max_element(counts));
  std::vector<Row> linear;
  linear.reserve(2 * counts.size());
  std::vector<double> one(2);
  for (const double count : counts) {
    const int threads = static_cast<int>(count);
    const std::string title = work.title + ", " + in_words(threads);
    if (threads > usable_cores()) {
      report.missing(title, "headrace",
                     "this machine has " + std::to_string(usable_cores()) + " usable cores");
      continue;
    }
    const auto rates =
        compare({{"bare threads", work.bare(threads)}, {"headrace", work.ours(threads)}},
                options.number("repeats"));
    std::optional<Goal> wanted;
    if (threads == most && most > 1) wanted = at_least(goal);
    report.add(title, work.unit, rates, "bare threads", {std::nullopt, wanted});
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (threads == 1) one[i] = rates[i].median;
      if (one[i] == 0 || threads == 1) continue;
      linear.push_back(as_share(work, rates[i], threads, one[i]));
      if (i == 1) linear.back().goal = wanted;
    }
  }
  report.add(linear);
}

}  // namespace

void measure_scaling(const std::filesystem::path& folder, const Options& options, Report& report) {
  const auto asked = [&](const char* name) { return options.asks_for("scale", name); };
  const auto rows = static_cast<std::int64_t>(options.real("rows"));
  if (asked("pictures")) scale(of_pictures(folder, options.number("files")), options, report);
  if (asked("rows")) scale(of_rows(folder, rows), options, report);
  if (asked("chunks")) scale(of_chunks(folder, rows / 4), options, report);
}

}  // namespace headrace::inline v1::bench
