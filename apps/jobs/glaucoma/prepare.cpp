#include <headrace/apps/feed/fashion_mnist.h>
#include <headrace/apps/jobs/glaucoma/file.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/prepare.h>
#include <headrace/apps/run/make_folder.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/loaders/idx/idx_file.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <opencv2/core/utility.hpp>

namespace headrace::inline v1::app {
namespace {

struct PrepareOptions {
  int side = 28;
  std::filesystem::path output{};
  int limit = 0;  // Most training samples; 0: all 30,000. Test samples are a sixth of that.
  int threads = 0;
};

void add(CLI::App& line, PrepareOptions& options) {
  line.add_option("--side", options.side, "Height and width of a map, in pixels")
      ->check(CLI::Range(16, 1024))
      ->capture_default_str();
  line.add_option("--output", options.output, "HDF5 file to write")->required();
  line.add_option("--limit", options.limit,
                  "Most training samples (test samples: a sixth of it); 0: all 30,000")
      ->check(CLI::Range(0, 30000));
  add_threads(line, options.threads);
}

// T-shirt, pullover, dress, coat, shirt.
constexpr std::array<std::int64_t, glaucoma_classes> wanted_classes{0, 2, 3, 4, 6};

void say(std::string_view line) {
  fmt::print(stderr, "prepare glaucoma: {}\n", line);
}

// One split of Fashion-MNIST: the rows of the wanted classes, at most `limit`, in file order.
struct Split {
  Tensor images;
  std::vector<std::int64_t> rows{};
  std::vector<std::uint8_t> classes{};
};

Split read_split(const std::filesystem::path& images, const std::filesystem::path& labels,
                 std::size_t limit) {
  Split split{.images = read_idx(images)};
  const Tensor all_labels = read_idx(labels);
  const auto values = all_labels.values<std::uint8_t>();
  for (std::size_t i = 0; i < values.size() && split.rows.size() < limit; ++i) {
    for (std::size_t c = 0; c < wanted_classes.size(); ++c) {
      if (values[i] != wanted_classes[c]) continue;
      split.rows.push_back(static_cast<std::int64_t>(i));
      split.classes.push_back(static_cast<std::uint8_t>(c));
    }
  }
  return split;
}

void append(GlaucomaImages& samples, const Split& split, std::int64_t first_image,
            std::uint8_t which) {
  for (std::size_t i = 0; i < split.rows.size(); ++i) {
    samples.rows.push_back(first_image + split.rows[i]);
    samples.classes.push_back(split.classes[i]);
    samples.split.push_back(which);
  }
}

GlaucomaImages read_samples(const FashionMnistFiles& files, int limit) {
  constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
  const auto most = static_cast<std::size_t>(limit);
  const Split train =
      read_split(files.train_images, files.train_labels, limit == 0 ? no_limit : most);
  const Split test =
      read_split(files.test_images, files.test_labels, limit == 0 ? no_limit : (most + 5) / 6);
  const std::int64_t train_images = train.images.shape()[0];
  GlaucomaImages samples;
  samples.images = Tensor::empty(DType::uint8, {train_images + test.images.shape()[0], 28, 28});
  std::memcpy(samples.images.raw(), train.images.raw(), train.images.bytes());
  std::memcpy(static_cast<std::byte*>(samples.images.raw()) + train.images.bytes(),
              test.images.raw(), test.images.bytes());
  append(samples, train, 0, 0);
  append(samples, test, train_images, 1);
  return samples;
}

ExitCode run(const PrepareOptions& options, const CommandCall&) {
  const FashionMnistFiles files = find_fashion_mnist(say);
  const std::string recipe =
      fmt::format("glaucoma 1: Fashion-MNIST {} classes 0,2,3,4,6, side {}, limit {}", files.digest,
                  options.side, options.limit);
  if (has_glaucoma_file(options.output, recipe)) {
    say(fmt::format("{} is there already, made by the same recipe; kept", options.output.string()));
    return ExitCode::done;
  }
  make_folder("prepare", options.output.parent_path());
  cv::setNumThreads(0);
  const GlaucomaImages samples = read_samples(files, options.limit);
  Progress progress("prepare glaucoma", static_cast<std::int64_t>(samples.rows.size()), "samples");
  write_glaucoma_file(samples,
                      {.file = options.output,
                       .side = options.side,
                       .threads = threads_of(options.threads),
                       .recipe = recipe,
                       .progress = [&](std::int64_t done, std::int64_t) { progress.show(done); }});
  progress.end();
  say(fmt::format("{}: {} training and {} test samples, six maps of {} x {}, {} in {}",
                  options.output.string(),
                  std::count(samples.split.begin(), samples.split.end(), 0),
                  std::count(samples.split.begin(), samples.split.end(), 1), options.side,
                  options.side, monitor::format_bytes(std::filesystem::file_size(options.output)),
                  monitor::format_seconds(progress.seconds())));
  return ExitCode::done;
}

}  // namespace

Command prepare_glaucoma_command() {
  return make_command("glaucoma",
                      "Six maps of five classes from Debian's Fashion-MNIST, as one HDF5 file", add,
                      run);
}

}  // namespace headrace::inline v1::app
