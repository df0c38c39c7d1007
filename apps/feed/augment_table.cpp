#include <headrace/apps/feed/augment/operation.h>

#include <string_view>

#include <fmt/format.h>

// The table: a line an operation, whose row is what augment/<name>.cpp says.
#define HEADRACE_AUGMENT_TABLE(row)                                                        \
  row(random_resized_crop) row(resized_center_crop) row(center_crop) row(resize) row(flip) \
      row(vertical_flip) row(rotate) row(affine) row(color_jitter) row(rand_augment)       \
          row(random_erasing) row(gaussian_blur) row(clahe) row(log_mel) row(spec_augment) \
              row(mixup) row(cutmix) row(mixup_or_cutmix) row(normalize)

namespace headrace::inline v1::app {
namespace operations {
#define HEADRACE_DECLARE(name) AugmentRow name();
HEADRACE_AUGMENT_TABLE(HEADRACE_DECLARE)
#undef HEADRACE_DECLARE
}  // namespace operations

const std::vector<AugmentRow>& augment_table() {
#define HEADRACE_ROW(name) operations::name(),
  static const std::vector<AugmentRow> rows{HEADRACE_AUGMENT_TABLE(HEADRACE_ROW)};
#undef HEADRACE_ROW
  return rows;
}

namespace {

std::string words(AugmentOn on) {
  switch (on) {
    case AugmentOn::samples:
      return "samples";
    case AugmentOn::batches:
      return "batches";
    case AugmentOn::either:
      break;
  }
  return "either";
}

std::string cell(const std::string& text) {
  return text.empty() ? "" : " " + text;
}

// "0.0 to 1.0 degrees" of "at least 0.0 and at most 1.0".
std::string short_range(const KeyDoc& key) {
  constexpr std::string_view least = "at least ";
  constexpr std::string_view most = " and at most ";
  std::string range = key.range;
  const auto middle = range.find(most);
  if (range.starts_with(least) && middle != std::string::npos)
    range = range.substr(least.size(), middle - least.size()) + " to " +
            range.substr(middle + most.size());
  if (!range.empty() && !key.unit.empty()) range += ' ';
  return range + key.unit;
}

}  // namespace

std::string augment_table_text() {
  std::string text;
  for (const AugmentRow& row : augment_table()) {
    text += fmt::format(
        "\n### {}\n\nWhat it does: {}. Works on {}.{}\n", row.name, row.doc, words(row.on),
        row.main.empty() ? "" : fmt::format(" `{}: value` sets `{}`.", row.name, row.main));
    std::any parameters = row.make();
    Fields fields;
    row.describe(fields, parameters);
    text += "\n| parameter | default | range | meaning |\n| --- | --- | --- | --- |\n";
    for (const KeyDoc& key : fields.keys()) {
      text += fmt::format("| `{}` | {} |{} |{} |\n", key.name, key.value, cell(short_range(key)),
                          cell(key.doc));
    }
  }
  return text;
}

}  // namespace headrace::inline v1::app
