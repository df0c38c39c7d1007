#include <headrace/apps/feed/hdf5_text.h>
#include <headrace/apps/jobs/leak/file.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/leak/statistics.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>

#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& rule) {
  throw DataError(fmt::format("[leak] {}: {}; \"headrace prepare leak\" makes such files",
                              path.string(), rule));
}

/// An attribute of JSON; null where there is none.
nlohmann::json read_json(const std::filesystem::path& path, const char* name) {
  const std::optional<std::string> text = read_hdf5_text(path, name);
  if (!text) return nullptr;
  nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (json.is_discarded()) refuse(path, fmt::format("attribute \"{}\" must be JSON", name));
  return json;
}

/// Number of the label that is called LEAK.
std::int64_t number_of_leak(const std::filesystem::path& path, const nlohmann::json& names) {
  if (names.is_array()) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == leak_label) return static_cast<std::int64_t>(i);
    }
  }
  refuse(path, fmt::format("attribute \"labels_json\" must name {}, got {}", leak_label,
                           names.dump().substr(0, 80)));
}

double number(const std::filesystem::path& path, const nlohmann::json& config, const char* name) {
  const auto found = config.find(name);
  const bool there = found != config.end() && found->is_number();
  const double value = there ? found->get<double>() : std::nan("");
  if (!std::isfinite(value)) {
    refuse(path, fmt::format("attribute \"config_json\" must hold the number {}", name));
  }
  return value;
}

LeakStatistics statistics_of(const std::filesystem::path& path, const LeakFile* training) {
  const nlohmann::json config = read_json(path, "config_json");
  if (config.contains("mean_db") || config.contains("std_db")) {
    const LeakStatistics said{number(path, config, "mean_db"), number(path, config, "std_db")};
    if (!(said.deviation > 0.0)) refuse(path, "std_db must be positive");
    return said;
  }
  if (training != nullptr) return {training->mean, training->deviation};
  return leak_statistics(path);
}

/// Recordings [long, short, mels, frames], or with a channel axis of one before mels.
void read_layout(LeakFile& file, const FieldSpec& mel) {
  const int rank = mel.shape.rank();
  const bool known = rank == 4 || (rank == 5 && mel.shape[2] == 1);
  if (mel.dtype != DType::float16 || !known || mel.shape.elements() == 0) {
    refuse(file.path,
           "segments_mel must be float16 [files, long, short, mels, frames], got rows of " +
               to_string(mel));
  }
  file.longs = mel.shape[0];
  file.shorts = mel.shape[1];
  file.mels = mel.shape[rank - 2];
  file.frames = mel.shape[rank - 1];
}

std::vector<std::uint8_t> read_labels(const std::filesystem::path& path, std::int64_t leak) {
  const Hdf5Table table(
      {.file = path, .fields = {{.name = "label", .dataset = leak_label_dataset}}});
  if (table.fields().at("label") != FieldSpec::fixed("label", DType::int16, {})) {
    refuse(path, "labels must be int16 [files], got " + to_string(table.fields().at("label")));
  }
  std::vector<std::uint8_t> labels;
  labels.reserve(static_cast<std::size_t>(table.size()));
  Sample sample;
  for (std::int64_t i = 0; i < table.size(); ++i) {
    sample.reset();
    table.read(i, sample);
    labels.push_back(sample["label"].item<std::int16_t>() == leak ? 1 : 0);
  }
  return labels;
}

}  // namespace

LeakFile read_leak_recordings(const std::filesystem::path& path, const LeakFile* training) {
  LeakFile file{.path = path};
  const Hdf5Table table({.file = path,
                         .fields = {{.name = "mel", .dataset = leak_mel_dataset}},
                         .residence = Residence::file});
  if (table.size() == 0) refuse(path, "segments_mel must hold recordings, got none");
  read_layout(file, table.fields().at("mel"));
  file.labels.assign(static_cast<std::size_t>(table.size()), 0);
  const LeakStatistics statistics = statistics_of(path, training);
  file.mean = statistics.mean;
  file.deviation = statistics.deviation;
  return file;
}

LeakFile read_leak_file(const std::filesystem::path& path, const LeakFile* training) {
  LeakFile file = read_leak_recordings(path, training);
  const std::size_t recordings = file.labels.size();
  file.labels = read_labels(path, number_of_leak(path, read_json(path, "labels_json")));
  if (file.labels.size() != recordings) {
    refuse(path, fmt::format("there must be a label for each of {} recordings, got {}", recordings,
                             file.labels.size()));
  }
  return file;
}

}  // namespace headrace::inline v1::app
