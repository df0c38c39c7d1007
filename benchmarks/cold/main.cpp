// What reading from cold storage costs beside bare readers of the same queue depth.
#include <headrace/benchmarks/cold/page_cache.h>
#include <headrace/benchmarks/cold/readers.h>
#include <headrace/benchmarks/harness/report.h>

#include <cstdio>
#include <memory>
#include <string>

using namespace headrace;
using namespace headrace::bench;

namespace {

using Paths = std::vector<std::filesystem::path>;

/// One question of the benchmark: both sides at a depth, and what must be cold for them.
struct Question {
  std::string title;
  std::string unit;
  Paths files;
  std::function<std::function<double()>(int depth)> bare;
  std::function<std::function<double()>(int depth)> ours;
};

LoaderOptions at_depth(int depth) {
  return {.runtime = Runtime({.threads = threads, .io_threads = depth})};
}

std::function<double()> times(std::function<double()> rows, double each) {
  return [=] { return rows() * each; };
}

void ask(const Question& question, const Options& options, Report& report) {
  const auto cold = [&] { evict(question.files); };
  for (const double depth : options.list("io-threads")) {
    const int d = static_cast<int>(depth);
    const auto rates =
        compare({{"bare readers", question.bare(d), cold}, {"headrace", question.ours(d), cold}},
                options.number("repeats"));
    report.add(question.title + ", depth " + std::to_string(d), question.unit + "/s", rates,
               "bare readers");
  }
}

/// The pictures of the loader's benchmark, copied until there are `files` of them: each is read
/// from the disk by itself.
std::filesystem::path many_pictures(const std::filesystem::path& folder, int files) {
  constexpr int distinct = 512;
  const auto from = picture_folder(folder, distinct);
  const auto root = folder / ("pictures-cold-" + std::to_string(files));
  for (int i = 0; i < files; ++i) {
    const auto to = root / (i % 2 == 0 ? "even" : "odd") / (std::to_string(i) + ".jpg");
    if (std::filesystem::exists(to)) continue;
    std::filesystem::create_directories(to.parent_path());
    const int original = i % distinct;
    std::filesystem::copy_file(
        from / (original % 2 == 0 ? "even" : "odd") / (std::to_string(original) + ".jpg"), to);
  }
  return root;
}

Question of_files(const std::filesystem::path& folder, int count, bool decoded) {
  const auto root = many_pictures(folder, count);
  const auto source = std::make_shared<const ImageFolder>(root);
  const auto files = std::make_shared<const Files>(*source, root);
  const Shuffled order{.seed = order_seed};
  const std::shared_ptr<const IndexStream> bound = order.bind(source->size());
  Question question{.title = std::to_string(count) + " JPEG files of 500x375, ",
                    .unit = decoded ? "images" : "MB",
                    .files = files->paths,
                    .bare = {},
                    .ours = {}};
  if (decoded) {
    question.title += "read and decoded to 224x224";
    question.bare = [=](int depth) { return bare_decoded(files, bound, depth); };
    question.ours = [=](int depth) {
      return through_loader(
          Pipeline::from(source).order(order).then(decode_224()).batch({.size = 64}),
          at_depth(depth));
    };
  } else {
    question.title += "their bytes alone";
    const double each = files->megabytes() / count;
    question.bare = [=](int depth) { return bare_files(files, bound, depth); };
    question.ours = [=](int depth) {
      return times(
          through_loader(Pipeline::from(source).order(order).batch({.size = 64}), at_depth(depth)),
          each);
    };
  }
  return question;
}

template <class Order>
Question of_rows(const std::filesystem::path& folder, const Order& order, const std::string& how) {
  constexpr std::int64_t rows = 131'072;
  constexpr std::int64_t bytes = 4096;
  const auto file = table_file(folder, rows, bytes);
  const auto source = std::make_shared<const Hdf5Table>(
      Hdf5TableOptions{.file = file, .fields = {{"row", "/row"}}, .residence = Residence::pread});
  const std::shared_ptr<const IndexStream> bound = order.bind(rows);
  return {.title = std::to_string(bound->length()) + " of " + std::to_string(rows) +
                   " HDF5 rows of 4096 bytes, not resident, " + how + ", batch 1024",
          .unit = "MB",
          .files = {file},
          .bare = [=](int depth) { return bare_file_rows(file, *source, bound, depth); },
          .ours =
              [=](int depth) {
                return times(
                    through_loader(Pipeline::from(source).order(order).batch({.size = 1024}),
                                   at_depth(depth)),
                    1e-6 * bytes);
              }};
}

}  // namespace

int main(int argc, char** argv) {
  Options options("cold_benchmark",
                  "reading from cold storage beside bare readers of the same depth");
  options.add("only", "all", "files, decoded, rows, chunks or all")
      .add("io-threads", "1,2,4,8,16,32", "queue depths: Runtime.io_threads, and bare readers")
      .add("repeats", "5", "rounds in turn, after one that is not counted")
      .add("files", "4096", "JPEG files")
      .add("rows", "16384", "rows an epoch")
      .add("folder", (std::filesystem::temp_directory_path() / "headrace-bench").string(),
           "where data is made once; must lie on a disk")
      .add_json();
  options.parse(argc, argv);
  const std::filesystem::path folder = options.text("folder");
  const std::int64_t rows = options.number("rows");
  const auto asked = [&](const char* name) { return options.asks_for("only", name); };
  Report report("cold_benchmark", options);
  std::printf(
      "%d workers, medians of %d rounds in turn; before every run the files leave the page "
      "cache (checked with mincore)\n",
      threads, options.number("repeats"));
  if (asked("files")) ask(of_files(folder, options.number("files"), false), options, report);
  if (asked("decoded")) ask(of_files(folder, options.number("files"), true), options, report);
  if (asked("rows"))
    ask(of_rows(folder, Shuffled{.seed = order_seed, .epoch_size = rows}, "random order"), options,
        report);
  if (asked("chunks")) {
    ask(of_rows(folder, ShuffledByChunk{.seed = order_seed, .epoch_size = 4 * rows},
                "shuffled by chunk of 256"),
        options, report);
  }
}
