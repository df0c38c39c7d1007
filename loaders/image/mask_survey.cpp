#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/mask_survey.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace headrace::inline v1 {
namespace {

using Colour = std::array<std::uint8_t, 3>;

/// Pixels of one file by value, or by colour as 0xRRGGBB.
using Counts = std::unordered_map<std::uint32_t, std::int64_t>;

/// The whole picture, as it is shown.
struct Whole {
  explicit Whole(const ImageHeader& header)
      : height(header.shown_height()),
        width(header.shown_width()),
        window{0, 0, double(width), double(height), {.width = width, .height = height}},
        pixels(static_cast<std::size_t>(height) * static_cast<std::size_t>(width)) {}

  int height;
  int width;
  ImageWindow window;
  std::size_t pixels;
};

Counts count_colours(ImageDecoder& decoder, const Whole& whole) {
  std::vector<std::uint8_t> rgb(whole.pixels * 3);
  decoder.decode(whole.window, {.rgb = rgb.data(), .height = whole.height, .width = whole.width});
  Counts counts;
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    ++counts[static_cast<std::uint32_t>(rgb[i]) << 16 |
             static_cast<std::uint32_t>(rgb[i + 1]) << 8 | rgb[i + 2]];
  }
  return counts;
}

Counts count_values(ImageDecoder& decoder, const Whole& whole) {
  std::vector<std::uint16_t> labels(whole.pixels);
  decoder.decode_labels(whole.window, {.labels = labels.data(),
                                       .dtype = DType::uint16,
                                       .height = whole.height,
                                       .width = whole.width});
  Counts counts;
  for (const std::uint16_t label : labels)
    ++counts[label];
  return counts;
}

/// Adds a file's counts; of what is not counted yet as many as there is room for, least first.
template <class Key, class ToKey>
void add(MaskSurvey& survey, std::map<Key, MaskCount>& all, const Counts& counts, std::size_t most,
         const ToKey& to_key) {
  std::vector<std::pair<std::uint32_t, std::int64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [number, pixels] : sorted) {
    auto at = all.find(to_key(number));
    if (at == all.end() && all.size() >= most) {
      survey.complete = false;
      continue;
    }
    if (at == all.end()) at = all.emplace(to_key(number), MaskCount{}).first;
    ++at->second.files;
    at->second.pixels += pixels;
  }
}

Colour to_colour(std::uint32_t number) {
  return {static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8),
          static_cast<std::uint8_t>(number)};
}

bool is_grey(const std::pair<const Colour, MaskCount>& entry) {
  const auto& [red, green, blue] = entry.first;
  return red == green && red == blue;
}

/// Colours that are grey in all files are values.
void settle(MaskSurvey& survey) {
  if (!std::all_of(survey.colours.begin(), survey.colours.end(), is_grey)) return;
  for (const auto& [colour, count] : survey.colours) {
    MaskCount& value = survey.values[colour[0]];
    value.files += count.files;
    value.pixels += count.pixels;
  }
  survey.colours.clear();
}

void look_at(const ImageSource& source, std::int64_t index, std::size_t most, MaskSurvey& survey) {
  try {
    Sample sample;
    source.read(index, sample);
    const Tensor file = sample["mask"];
    ImageDecoder& decoder = ImageDecoder::this_thread();
    const Whole whole(decoder.open(file.as_bytes()));
    if (decoder.keeps_colours()) {
      add(survey, survey.colours, count_colours(decoder, whole), most, to_colour);
    } else {
      add(survey, survey.values, count_values(decoder, whole), most,
          [](std::uint32_t value) { return static_cast<std::uint16_t>(value); });
    }
    ++survey.files;
  } catch (const DataError& error) {
    survey.bad.push_back({index, error.what()});
  }
}

}  // namespace

MaskSurvey survey_masks(const ImageSource& source, const MaskSurveyOptions& options) {
  if (!source.has_masks())
    throw ConfigError("[mask survey] " + source.name() + ": must have masks, got none");
  MaskSurvey survey;
  const std::int64_t all = source.size();
  const std::int64_t count = options.samples > 0 ? std::min(options.samples, all) : all;
  for (std::int64_t i = 0; i < count; ++i)
    look_at(source, i * all / count, options.most_values, survey);
  settle(survey);
  return survey;
}

}  // namespace headrace::inline v1
