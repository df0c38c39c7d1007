#include <headrace/apps/commands/command_table.h>
#include <headrace/apps/commands/image_data_options.h>
#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/apps/inspect/contact_sheet.h>
#include <headrace/apps/inspect/survey.h>
#include <headrace/apps/jobs/read_job.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

struct InspectOptions {
  ImageData images{};  // Or a configuration (YAML).
  std::vector<std::string> settings{};
  std::filesystem::path sheet = "inspect.png";  // Empty: no contact sheet.
  int samples = 8;                              // Rows of the sheet.
  int draws = 6;                                // What the pipeline makes of each.
  std::filesystem::path json{};
  int threads = 0;
};

void add(CLI::App& line, InspectOptions& options) {
  line.add_option("DATA", options.images.data,
                  "Folder with one folder per class, manifest, pack, or a loader's configuration")
      ->required();
  add_settings(line, options.settings);
  add_image_data(line, options.images);
  line.add_option("--sheet", options.sheet, "Contact sheet to write (PNG); \"\": none")
      ->capture_default_str();
  line.add_option("--samples", options.samples, "Rows of the sheet")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  line.add_option("--draws", options.draws, "What the pipeline makes of each")
      ->check(CLI::Range(1, 50))
      ->capture_default_str();
  line.add_option("--json", options.json, "Write everything found to this file");
  add_threads(line, options.threads);
}

// The data and the pipeline that is to be shown: those of a configuration, or the data alone with
// the pipeline of a fresh configuration.
struct Subject {
  LoaderConfig config;
  std::shared_ptr<const ImageSource> source;
};

Subject subject_of(const InspectOptions& options, const std::vector<Job>& jobs) {
  Subject subject;
  const std::string extension = options.images.data.extension().native();
  if (extension == ".yaml" || extension == ".yml") {
    subject.config = read_loader_config(jobs, options.images.data, options.settings);
    if (!is_images(subject.config.data.source)) {
      throw ConfigError(
          "[inspect] data.source must be images, manifest, pairs or pack, got another; inspect "
          "shows pictures");
    }
    subject.source = open_image_data(image_data_of(subject.config.data));
    return subject;
  }
  if (!options.settings.empty())
    throw ConfigError("[inspect] --set changes a configuration; name one instead of the data");
  subject.source = open_image_data(options.images);
  subject.config.data.source = SourceKind::images;
  subject.config.augment = augment_list("[random_resized_crop, flip]");
  return subject;
}

// Good records, evenly spread.
std::vector<std::int64_t> chosen(const Survey& survey, std::int64_t size, int count) {
  std::vector<std::int64_t> good;
  std::size_t bad = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (bad < survey.bad.size() && survey.bad[bad].index == i) {
      ++bad;
    } else {
      good.push_back(i);
    }
  }
  const auto wanted = std::min<std::size_t>(static_cast<std::size_t>(count), good.size());
  std::vector<std::int64_t> records;
  for (std::size_t i = 0; i < wanted; ++i)
    records.push_back(good[i * good.size() / wanted]);
  return records;
}

void write_sheet(const InspectOptions& options, const Subject& subject, const Survey& survey) {
  const auto records = chosen(survey, subject.source->size(), options.samples);
  if (records.empty()) return;
  const std::vector<std::byte> png =
      contact_sheet(subject.source, records, subject.config, {.draws = options.draws});
  write_file_atomically(options.sheet,
                        std::string_view(reinterpret_cast<const char*>(png.data()), png.size()));
  fmt::print("\n{}: {} pictures before and {} times after the pipeline\n", options.sheet.string(),
             records.size(), options.draws);
}

ExitCode run(const InspectOptions& options, const CommandCall& call) {
  const Subject subject = subject_of(options, call.jobs);
  StopSignals signals;
  Progress view("inspect", subject.source->size(), "images");
  const Survey result =
      survey(*subject.source, {.threads = threads_of(options.threads),
                               .stop = signals.token(),
                               .on_progress = [&view](std::int64_t done) { view.show(done); }});
  view.end();
  const std::string text = to_text(result, *subject.source);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!options.json.empty()) write_file_atomically(options.json, to_json(result, *subject.source));
  if (signals.received() != 0) return signals.exit_code();
  if (!options.sheet.empty()) write_sheet(options, subject, result);
  return result.bad.empty() ? ExitCode::done : ExitCode::data;
}

}  // namespace

// What a data set holds, what is bad in it and why, and a contact sheet of what a pipeline feeds.
// ExitCode::data when a file is bad.
Command inspect_command() {
  return make_command(
      "inspect", "Say what a data set holds and what is bad in it, and draw what a pipeline feeds",
      add, run);
}

}  // namespace headrace::inline v1::app
