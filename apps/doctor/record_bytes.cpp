#include <headrace/apps/doctor/tune_candidates.h>
#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/engine/base/error.h>

#include <algorithm>

namespace headrace::inline v1::app {
namespace {

std::uint64_t bytes_of(const Schema& fields, std::int64_t records) {
  std::uint64_t row = 0;
  for (const FieldSpec& field : fields)
    row += field.row_bytes();
  return row * static_cast<std::uint64_t>(std::max<std::int64_t>(records, 0));
}

RecordBytes of_loader(const LoaderConfig& config) {
  const LoaderJob job = make_loader_job(config);
  const Source& outline = *job.source.outline;
  if (!is_images(config.data.source)) return {.rows = bytes_of(outline.fields(), outline.size())};
  constexpr std::uint64_t channels = 3;
  const auto side =
      static_cast<std::uint64_t>(config.image.resize > 0 ? config.image.resize : config.image.side);
  return {.decoded = side * side * channels * static_cast<std::uint64_t>(outline.size())};
}

RecordBytes of_job(const JobConfig& config) {
  RecordBytes bytes;
  bool first = true;
  for (const DataPart& part : config.data_parts()) {
    if (!part.records) continue;
    // A cache keeps what is trained on.
    if (first) bytes.decoded = bytes_of(part.fields, part.records->size());
    first = false;
    bytes.rows += bytes_of(part.records->fields(), part.records->size());
  }
  return bytes;
}

}  // namespace

RecordBytes record_bytes(const WholeConfiguration& configuration) {
  try {
    return configuration.loader ? of_loader(*configuration.loader) : of_job(*configuration.job);
  } catch (const Error&) {
    return {};  // a trial says what is wrong
  }
}

}  // namespace headrace::inline v1::app
