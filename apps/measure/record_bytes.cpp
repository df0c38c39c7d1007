#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/feed/loader_pipeline.h>
#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/apps/measure/record_bytes.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/cache/decoded_cache.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace headrace::inline v1::app {
namespace {

std::uint64_t bytes_of(const Schema& fields, std::int64_t records) {
  std::uint64_t row = 0;
  for (const FieldSpec& field : fields)
    row += field.row_bytes();
  return row * static_cast<std::uint64_t>(std::max<std::int64_t>(records, 0));
}

double image_number(const Node& full, std::string_view key) {
  const Entry* const image = full.find("image");
  const Entry* const entry = image == nullptr ? nullptr : image->value.find(key);
  double number = 0.0;
  if (entry == nullptr) return number;
  const std::string& text = entry->value.text;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Parts show pictures as the network sees them; a cache keeps them as large as they are decoded.
double area_ratio(const Node& full) {
  const double shown = image_number(full, "size");
  const double kept = image_number(full, "resize");
  return shown > 0.0 && kept > 0.0 ? kept * kept / (shown * shown) : 1.0;
}

RecordBytes of_loader(const LoaderConfig& config) {
  const LoaderJob job = make_loader_job(config);
  const Source& outline = *job.source.outline;
  if (!is_images(config.data.source)) return {.rows = bytes_of(outline.fields(), outline.size())};
  return {.decoded = DecodedCache::bytes_for(decoded_fields(config, outline), outline.size())};
}

RecordBytes of_job(const JobConfig& config, const Node& full) {
  RecordBytes bytes;
  bool first = true;
  for (const DataPart& part : config.data_parts()) {
    if (!part.records) continue;
    // A cache keeps what is trained on.
    if (first)
      bytes.decoded = static_cast<std::uint64_t>(
          static_cast<double>(DecodedCache::bytes_for(part.fields, part.records->size())) *
          area_ratio(full));
    first = false;
    bytes.rows += bytes_of(part.records->fields(), part.records->size());
  }
  return bytes;
}

}  // namespace

RecordBytes record_bytes(const LoaderConfig& config) {
  try {
    return of_loader(config);
  } catch (const Error&) {
    return {};  // a trial says what is wrong
  }
}

RecordBytes record_bytes(const JobConfig& config, const Node& full) {
  try {
    return of_job(config, full);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace headrace::inline v1::app
