#include <headrace/apps/inspect/survey.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_lines = 20;

std::span<const std::byte> file_of(const Sample& sample, std::string_view field) {
  const Tensor& tensor = sample[field];
  return {static_cast<const std::byte*>(tensor.raw()), tensor.bytes()};
}

struct Look {
  ImageHeader header;
  std::uint64_t bytes = 0;
  std::string bad;
};

// Labels are decoded whole, which a lossy file has none of.
std::string why_no_mask(const ImageHeader& image, std::span<const std::byte> file,
                        ImageDecoder& decoder) {
  const ImageHeader mask = decoder.open(file);
  const int width = mask.shown_width();
  const int height = mask.shown_height();
  if (width == image.shown_width() && height == image.shown_height()) {
    if (decoder.keeps_colours()) {
      decoder.check(file);
      return "";
    }
    std::vector<std::uint16_t> labels(static_cast<std::size_t>(width) *
                                      static_cast<std::size_t>(height));
    decoder.decode_labels(
        {0, 0, double(width), double(height), {.width = width, .height = height}},
        {.labels = labels.data(), .dtype = DType::uint16, .height = height, .width = width});
    return "";
  }
  return fmt::format("mask must be {} x {} as its image is shown, got {} x {}{}",
                     image.shown_width(), image.shown_height(), width, height,
                     turned_hint(image, mask));
}

Look look_at(const ImageSource& source, std::int64_t index, Sample& sample, ImageDecoder& decoder) {
  Look look;
  look.bytes = source.image_bytes(index) + source.mask_bytes(index);
  try {
    source.read(index, sample);
    look.header = decoder.check(file_of(sample, "image"));
    if (source.has_masks()) look.bad = why_no_mask(look.header, file_of(sample, "mask"), decoder);
  } catch (const DataError& error) {
    look.bad = error.what();
  }
  return look;
}

void add(Survey& survey, const ImageSource& source, std::int64_t index, Look look) {
  ++survey.records;
  survey.bytes += look.bytes;
  if (!look.bad.empty()) {
    survey.bad.push_back({index, source.origin(index), std::move(look.bad)});
    return;
  }
  ++survey.formats[std::string(look.header.format)];
  survey.widths.push_back(look.header.shown_width());
  survey.heights.push_back(look.header.shown_height());
  if (look.header.components == 1) ++survey.grey;
  if (look.header.orientation != 1) ++survey.turned;
  if (look.header.is_dim()) ++survey.dim;
  if (source.has_masks()) ++survey.masks;
  for (const std::int64_t label : source.label_set(index))
    ++survey.class_counts[static_cast<std::size_t>(label)];
}

std::string range(const std::vector<int>& sorted) {
  if (sorted.empty()) return "-";
  return fmt::format("{} to {}, median {}", sorted.front(), sorted.back(),
                     sorted[sorted.size() / 2]);
}

std::string class_table(const Survey& survey, const ImageSource& source) {
  Table table({{"class", Align::left}, {"label"}, {"images"}, {"share"}});
  std::vector<std::size_t> order(survey.class_counts.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&survey](std::size_t a, std::size_t b) {
    return survey.class_counts[a] > survey.class_counts[b];
  });
  const double all = static_cast<double>(std::max<std::size_t>(1, survey.widths.size()));
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == most_lines) {
      table.row({fmt::format("and {} more", order.size() - i)});
      break;
    }
    const auto count = survey.class_counts[order[i]];
    table.row({source.classes()[order[i]], std::to_string(order[i]), std::to_string(count),
               monitor::format_share(static_cast<double>(count) / all)});
  }
  return table.text();
}

}  // namespace

Survey survey(const ImageSource& source, const SurveyOptions& options) {
  Survey result;
  result.class_counts.resize(source.classes().size());
  const std::int64_t all = source.size();
  const std::int64_t count = options.most > 0 ? std::min(options.most, all) : all;
  std::mutex mutex;
  const auto make = [&] {
    return [&, sample = Sample(),
            decoder = std::make_unique<ImageDecoder>()](std::size_t place) mutable {
      if (options.stop.stop_requested()) return;
      const std::int64_t i = static_cast<std::int64_t>(place) * all / count;
      Look look = look_at(source, i, sample, *decoder);
      const std::lock_guard lock(mutex);
      add(result, source, i, std::move(look));
      if (options.on_progress) options.on_progress(result.records);
    };
  };
  headrace::detail::in_parallel(static_cast<std::size_t>(count),
                                static_cast<std::size_t>(std::max(1, options.threads)), make);
  std::sort(result.widths.begin(), result.widths.end());
  std::sort(result.heights.begin(), result.heights.end());
  std::sort(result.bad.begin(), result.bad.end(),
            [](const Survey::Bad& a, const Survey::Bad& b) { return a.index < b.index; });
  return result;
}

std::vector<std::int64_t> good_records(const std::vector<Survey::Bad>& bad_records,
                                       std::int64_t size, int count) {
  std::vector<std::int64_t> good;
  std::size_t bad = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (bad < bad_records.size() && bad_records[bad].index == i)
      ++bad;
    else
      good.push_back(i);
  }
  const auto wanted = std::min<std::size_t>(static_cast<std::size_t>(count), good.size());
  std::vector<std::int64_t> records;
  for (std::size_t i = 0; i < wanted; ++i)
    records.push_back(good[i * good.size() / wanted]);
  return records;
}

std::string to_text(const Survey& survey, const ImageSource& source) {
  std::string formats;
  for (const auto& [name, count] : survey.formats)
    formats += fmt::format("{}{} {}", formats.empty() ? "" : ", ", count, name);
  std::string text = fmt::format("{}\n", clean_text(source.name()));
  text += fmt::format("images    {} of {} looked at, {} bad, {}\n", survey.records, source.size(),
                      survey.bad.size(), monitor::format_bytes(survey.bytes));
  text += fmt::format("formats   {}; {} grey, {} turned by EXIF\n", formats, survey.grey,
                      survey.turned);
  text += fmt::format("width     {}\nheight    {}\n", range(survey.widths), range(survey.heights));
  if (survey.dim > 0) {
    text += fmt::format(
        "dim       {}: 16 bits of which 12 are used become nearly black; save them times 16\n",
        survey.dim);
  }
  if (source.has_masks()) text += fmt::format("masks     {}\n", survey.masks);
  if (!source.group_names().empty())
    text += fmt::format("groups    {}\n", source.group_names().size());
  if (!survey.class_counts.empty()) text += "\n" + class_table(survey, source);
  if (survey.bad.empty()) return text;
  text += "\nbad files\n";
  for (std::size_t i = 0; i < std::min(survey.bad.size(), most_lines); ++i)
    text += fmt::format("  {}: {}\n", survey.bad[i].origin, clean_text(survey.bad[i].reason));
  if (survey.bad.size() > most_lines) {
    text += fmt::format("  and {} more; --json lists them all\n", survey.bad.size() - most_lines);
  }
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Survey& survey, const ImageSource& source) {
  const auto sides = [](const std::vector<int>& sorted) -> Json {
    if (sorted.empty()) return nullptr;
    return {
        {"least", sorted.front()}, {"median", sorted[sorted.size() / 2]}, {"most", sorted.back()}};
  };
  Json classes = Json::array();
  for (std::size_t i = 0; i < survey.class_counts.size(); ++i)
    classes.push_back({{"name", source.classes()[i]}, {"images", survey.class_counts[i]}});
  Json bad = Json::array();
  for (const Survey::Bad& one : survey.bad)
    bad.push_back({{"index", one.index}, {"file", one.origin}, {"reason", one.reason}});
  return {{"data", source.name()},
          {"size", source.size()},
          {"looked_at", survey.records},
          {"bytes", survey.bytes},
          {"formats", survey.formats},
          {"grey", survey.grey},
          {"turned", survey.turned},
          {"dim", survey.dim},
          {"masks", survey.masks},
          {"groups", source.group_names().size()},
          {"width", sides(survey.widths)},
          {"height", sides(survey.heights)},
          {"classes", classes},
          {"copies", survey.copies},
          {"bad", bad}};
}

}  // namespace

std::string to_json(std::span<const Survey> surveys, std::span<const PicturePart> parts) {
  Json document = json_of(surveys[0], *parts[0].source);
  if (parts.size() > 1) {
    document = {{"copies", surveys[0].copies}, {"parts", Json::array()}};
    for (std::size_t i = 0; i < surveys.size(); ++i) {
      Json part = json_of(surveys[i], *parts[i].source);
      part.erase("copies");
      part["name"] = parts[i].name;
      document["parts"].push_back(std::move(part));
    }
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::inline v1::app
