#include <headrace/apps/config/key_table.h>
#include <headrace/apps/feed/augment/operation.h>

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
    text += '\n' + key_table(fields.keys(), "parameter");
  }
  return text;
}

}  // namespace headrace::inline v1::app
