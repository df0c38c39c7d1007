#include <headrace/apps/config/key_table.h>
#include <headrace/apps/feed/augment/operation.h>

#include <fmt/format.h>

// The table: a line an operation, whose row is what the function of that name in augment/ says.
#define HEADRACE_AUGMENT_TABLE(row)                                                                \
  row(random_resized_crop) row(resized_center_crop) row(center_crop) row(resize) row(flip)         \
      row(vertical_flip) row(rotate) row(rotate90) row(affine) row(color_jitter) row(rand_augment) \
          row(random_erasing) row(gaussian_blur) row(gaussian_noise) row(motion_blur) row(degrade) \
              row(clahe) row(flatten_sharpen) row(log_mel) row(spec_augment) row(spatial)          \
                  row(volume_noise) row(volume_blur) row(volume_brightness) row(volume_contrast)   \
                      row(volume_low_resolution) row(volume_gamma) row(nnunet_intensity)           \
                          row(slice_jitter) row(volume_cutout) row(patch_dropout)                  \
                              row(distance_transform) row(skeleton) row(soft_skeleton)             \
                                  row(betti_targets) row(deep_supervision_targets) row(mixup)      \
                                      row(cutmix) row(mixup_or_cutmix) row(normalize)

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

std::string works_on(const AugmentRow& row) {
  if (row.cuts_patches) return "Stands first";
  switch (row.on) {
    case AugmentOn::samples:
      return "Works on samples";
    case AugmentOn::batches:
      return "Works on batches";
    case AugmentOn::either:
      break;
  }
  return "Works on either";
}

// Keys of sections by their paths.
std::vector<KeyDoc> flat(const std::vector<KeyDoc>& keys, const std::string& prefix = {}) {
  std::vector<KeyDoc> all;
  for (KeyDoc key : keys) {
    key.name = prefix + key.name;
    const std::vector<KeyDoc> inner = flat(key.keys, key.name + '.');
    all.push_back(std::move(key));
    all.insert(all.end(), inner.begin(), inner.end());
  }
  return all;
}

}  // namespace

std::string augment_table_text() {
  std::string text;
  for (const AugmentRow& row : augment_table()) {
    text += fmt::format(
        "\n### {}\n\nWhat it does: {}. {}.{}\n", row.name, row.doc, works_on(row),
        row.main.empty() ? "" : fmt::format(" `{}: value` sets `{}`.", row.name, row.main));
    std::any parameters = row.make();
    Fields fields;
    row.describe(fields, parameters);
    text += '\n' + key_table(flat(fields.keys()), "parameter");
  }
  return text;
}

}  // namespace headrace::inline v1::app
