#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/feed/loader_data.h>
#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/apps/inspect/contact_sheet.h>
#include <headrace/apps/inspect/data_survey.h>
#include <headrace/apps/inspect/image_data_options.h>
#include <headrace/apps/inspect/picture_parts.h>
#include <headrace/apps/inspect/row_copies.h>
#include <headrace/apps/inspect/survey.h>
#include <headrace/apps/inspect/volume_sheet.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/result_file.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/terminal/progress.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <opencv2/core/utility.hpp>

namespace headrace::inline v1::app {
namespace {

struct InspectOptions {
  ImageData images{};  // Or a configuration (YAML).
  std::vector<std::string> settings{};
  std::filesystem::path sheet = "inspect.png";  // Empty: no contact sheet.
  int samples = 8;                              // Rows of the sheet.
  int draws = 6;                                // What the pipeline makes of each.
  std::int64_t channel = 0;                     // Of volumes.
  bool duplicates = false;                      // Read all to find copies.
  std::filesystem::path json{};
  int threads = 0;
};

void add(CLI::App& line, InspectOptions& options) {
  line.add_option("DATA", options.images.data,
                  "Folder with one folder per class, manifest, pack, or a configuration (YAML)")
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
  line.add_option("--channel", options.channel, "Channel of volumes that is shown, from 0")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  line.add_flag("--duplicates", options.duplicates,
                "Read every record to find copies, rows of tables too, however long it takes");
  line.add_option("--json", options.json, "Write everything found to this file");
  add_threads(line, options.threads);
}

/// Image files, and the pipeline that is to be shown of the first part.
struct Images {
  LoaderConfig config;
  std::vector<PicturePart> parts;
  std::shared_ptr<const Source> fed;
};

bool is_configuration(const std::filesystem::path& data) {
  const std::string extension = data.extension().native();
  return extension == ".yaml" || extension == ".yml";
}

/// Options that say what data there are stand in a configuration, if one is named.
void refuse_beside_configuration(const ImageData& images) {
  const auto refuse = [](bool given, const char* option, const char* key) {
    if (!given) return;
    throw ConfigError(fmt::format(
        "[inspect] {} is for pictures without a configuration; of a configuration set {}: --set "
        "{}=...",
        option, key, key));
  };
  refuse(!images.masks.empty(), "--masks", "data.masks");
  refuse(!images.mask_suffix.empty(), "--mask-suffix", "data.mask_suffix");
  refuse(!images.root.empty(), "--root", "data.root");
  refuse(!images.columns.path.empty(), "--image-column", "data.train.columns.path");
  refuse(!images.columns.mask.empty(), "--mask-column", "data.train.columns.mask");
  refuse(!images.columns.label.empty(), "--label-column", "data.train.columns.label");
  refuse(!images.columns.labels.empty(), "--label-column", "data.train.columns.labels");
  refuse(images.follow_links, "--follow-links", "data.follow_links");
}

/// The data alone, with a pipeline of their own.
Images images_of(const InspectOptions& options) {
  if (!options.settings.empty())
    throw ConfigError("[inspect] --set changes a configuration; name one instead of the data");
  // Opened before the rest is made: GCC 12 destroys too much where an initialiser throws.
  auto parts = picture_parts(options.images);
  auto alone = pictures_alone(parts.front().source);
  Images images{.config = {}, .parts = std::move(parts), .fed = std::move(alone)};
  images.config.data.source = SourceKind::images;
  images.config.augment = augment_list("[random_resized_crop, flip]");
  images.config.batch = options.samples;
  return images;
}

// What a sheet shows.
struct Shown {
  std::size_t records = 0;
  const char* unit = "pictures";
  bool normalizes = false;  // behind what is shown
};

/// Files to write, looked at before hours are spent on looking at every record.
struct Outputs {
  Outputs(const InspectOptions& options, bool can_draw)
      : json(options.json, "[inspect] --json", {options.images.data}),
        sheet(can_draw ? options.sheet : "", "[inspect] --sheet",
              {options.images.data, options.json}) {}

  ResultFile json;
  ResultFile sheet;
};

void write_sheet(const InspectOptions& options, const Outputs& outputs,
                 const std::vector<std::byte>& png, const Shown& shown) {
  outputs.sheet.write(png);
  fmt::print("\n{}: {} {} before and {} times after the pipeline{}\n", options.sheet.string(),
             shown.records, shown.unit, options.draws,
             shown.normalizes ? ", as they are before they are normalised" : "");
}

/// A pipeline that cannot be is refused before hours are spent on looking at every file.
void try_pipeline(const std::function<Pipeline(std::vector<std::int64_t>)>& fed,
                  std::int64_t records, const InspectOptions& options) {
  if (!options.sheet.empty() && records > 0) fed({0}).build({.prefetch = 1});
}

/// A survey with a view of how far it is.
template <class Data>
auto watched(const Data& data, std::int64_t records, const char* unit,
             const InspectOptions& options, const StopSignals& signals) {
  Progress view("inspect", records, unit);
  auto result = survey(data, {.threads = threads_of(options.threads),
                              .stop = signals.token(),
                              .on_progress = [&view](std::int64_t done) { view.show(done); }});
  view.end();
  return result;
}

/// What is to be said of copies among all parts, which is printed, too.
std::vector<std::string> told(const Copies& copies) {
  std::vector<std::string> lines;
  for (const auto& [level, line] : copies.lines()) {
    lines.push_back(line);
    fmt::print("\n{}\n", line);
  }
  return lines;
}

/// The same of records that are all read.
std::vector<std::string> told_of_rows(const std::vector<DataPart>& parts,
                                      const InspectOptions& options, const StopSignals& signals) {
  std::int64_t records = 0;
  for (const DataPart& part : parts)
    records += part.records->size();
  Progress view("copies", records, "records");
  const Copies copies =
      row_copies(parts, {.threads = threads_of(options.threads),
                         .stop = signals.token(),
                         .on_progress = [&](std::int64_t done) { view.show(done); }});
  view.end();
  return told(copies);
}

std::vector<std::string> copies_of(const std::vector<PicturePart>& parts,
                                   const InspectOptions& options, const StopSignals& signals) {
  if (!options.duplicates) {
    std::vector<CopyList> lists;
    for (const PicturePart& part : parts)
      lists.push_back(copy_list(part.side, part.source));
    return told(Copies(std::move(lists), {}, {}, signals.token()));
  }
  std::vector<DataPart> rows;
  for (const auto& [name, side, source] : parts)
    rows.push_back({.name = name, .records = source, .classes = source->classes()});
  return told_of_rows(rows, options, signals);
}

ExitCode inspect_images(const InspectOptions& options, const Images& images) {
  const Outputs outputs(options, true);
  const ImageSource& source = *images.parts.front().source;
  const auto fed = [&images](std::vector<std::int64_t> places) {
    return sheet_pipeline(images.config, images.fed, std::move(places));
  };
  try_pipeline(fed, source.size(), options);
  StopSignals signals;
  std::vector<Survey> surveys;
  bool all_good = true;
  for (const auto& [name, side, part] : images.parts) {
    surveys.push_back(watched(*part, part->size(), "images", options, signals));
    fmt::print("{}{}{}{}", surveys.size() > 1 ? "\n" : "", name, name.empty() ? "" : ": ",
               to_text(surveys.back(), *part));
    all_good = all_good && surveys.back().bad.empty();
    if (signals.received() != 0) break;
  }
  surveys.front().copies = copies_of(images.parts, options, signals);
  if (!options.json.empty()) outputs.json.write(to_json(surveys, images.parts));
  if (signals.received() != 0) return signals.exit_code();
  const auto records = good_records(surveys.front().bad, source.size(), options.samples);
  if (!options.sheet.empty() && !records.empty()) {
    write_sheet(
        options, outputs,
        contact_sheet(images.parts.front().source, records, fed(records), {.draws = options.draws}),
        {.records = records.size(), .normalizes = normalizes(images.config.augment)});
  }
  return all_good ? ExitCode::done : ExitCode::data;
}

SheetOptions sheet_options(const InspectOptions& options) {
  return {.draws = options.draws, .channel = options.channel};
}

/// The sheet of a part, or why there is none.
void show_sheet(const InspectOptions& options, const Outputs& outputs, const DataPart& part,
                const DataSurvey& survey) {
  if (const std::string reason = why_no_sheet(part); !reason.empty()) {
    fmt::print("\nno contact sheet: {}\n", reason);
    return;
  }
  const auto records = good_records(survey.bad, part.records->size(), options.samples);
  if (records.empty()) return;
  write_sheet(options, outputs, contact_sheet(part, records, sheet_options(options)),
              {.records = records.size(),
               .unit = volume_fields(part.fields) ? "volumes" : "pictures",
               .normalizes = part.normalizes});
}

ExitCode inspect_parts(const InspectOptions& options, const std::vector<DataPart>& parts) {
  const bool can_draw = why_no_sheet(parts.front()).empty();
  const Outputs outputs(options, can_draw);
  if (!options.sheet.empty()) check_channel(parts.front(), sheet_options(options));
  if (can_draw) try_pipeline(parts.front().fed, parts.front().records->size(), options);
  StopSignals signals;
  std::vector<DataSurvey> surveys;
  surveys.reserve(parts.size());
  bool all_good = true;
  for (const DataPart& part : parts) {
    surveys.push_back(watched(part, part.records->size(), "records", options, signals));
    fmt::print("{}{}", surveys.size() > 1 ? "\n" : "", to_text(surveys.back(), part));
    all_good = all_good && surveys.back().bad.empty();
    if (signals.received() != 0) break;
  }
  std::vector<std::string> copies;
  if (options.duplicates) copies = told_of_rows(parts, options, signals);
  if (!options.json.empty()) outputs.json.write(to_json(surveys, parts, copies));
  if (signals.received() != 0) return signals.exit_code();
  if (!options.sheet.empty()) show_sheet(options, outputs, parts.front(), surveys.front());
  return all_good ? ExitCode::done : ExitCode::data;
}

ExitCode run(const InspectOptions& options, const CommandCall& call) {
  cv::setNumThreads(0);
  if (!is_configuration(options.images.data)) return inspect_images(options, images_of(options));
  refuse_beside_configuration(options.images);
  const InspectJob job = read_inspect_job(call.jobs, options.images.data, options.settings);
  if (!job.images) return inspect_parts(options, job.parts);
  auto source = open_image_data(image_data_of(job.images->data));
  return inspect_images(options,
                        {.config = *job.images, .parts = {{.source = source}}, .fed = source});
}

}  // namespace

// What a data set holds, what is bad in it and why, and a contact sheet of what a pipeline feeds.
// ExitCode::data when a file is bad.
Command inspect_command() {
  return make_command<InspectOptions>(
      "inspect", "Say what a data set holds and what is bad in it, and draw what a pipeline feeds",
      add, run);
}

}  // namespace headrace::inline v1::app
