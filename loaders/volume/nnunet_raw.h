#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// A class or region of a data set: the values of a label's voxels that belong to it.
struct NnUNetLabel {
  std::string name{};
  std::vector<std::int64_t> values{};
};

/// One subject.
struct NnUNetCase {
  std::string name{};
  std::vector<std::filesystem::path> images{};  ///< a file for each channel
  std::filesystem::path label{};                ///< empty of those to predict
};

/// A data set as nnU-Net (version 2) wants it: imagesTr, labelsTr, perhaps imagesTs, dataset.json.
struct HEADRACE_API NnUNetRaw {
  std::filesystem::path folder{};        ///< canonical
  std::vector<std::string> channels{};   ///< their names
  std::vector<NnUNetLabel> labels{};     ///< the background among them; in the file's order
  std::optional<std::int64_t> ignore{};  ///< value of voxels that count nowhere
  /// Of regions: the value that each becomes, a later one over an earlier; else empty.
  std::vector<std::int64_t> regions_class_order{};
  std::string file_ending{};
  std::vector<NnUNetCase> cases{};  ///< to train on, by name
  std::vector<NnUNetCase> test{};   ///< of imagesTs
  bool follow_links = false;        ///< out of the folder; false: refused

  /// Whether a class has several values, so that classes may overlap.
  bool regions() const noexcept;
  /// The values that a label may have, `ignore` among them, in order.
  std::vector<std::int64_t> values() const;
};

/// The images CASE_NNNN.ENDING of a folder, by case, of so many channels each; the ending is that
/// of volumes (is_named_as_volume()), the same of all. Labels are those of `labels` that are there,
/// CASE.ENDING; empty: none. Throws ConfigError as read_nnunet_raw(), and where no file has such a
/// name.
HEADRACE_API std::vector<NnUNetCase> list_nnunet_cases(const std::filesystem::path& images,
                                                       std::size_t channels,
                                                       const std::filesystem::path& labels = {},
                                                       bool follow_links = false);

/// Whether a folder says that it is such a data set, of whichever version.
HEADRACE_API bool is_nnunet_raw(const std::filesystem::path& folder);

/// Reads dataset.json and lists the files; opens none of them. Hidden files and those of another
/// ending are left out. Throws ConfigError naming the case or key, the rule and the way out: for
/// what dataset.json lacks or says wrongly, keys of nnU-Net's version 1, values of labels that are
/// not 0, 1, 2 and so on, channels that a case lacks or has too many of, images without a label, a
/// label without images, another number of cases than numTraining, and links out of the folder,
/// unless they are followed.
HEADRACE_API NnUNetRaw read_nnunet_raw(const std::filesystem::path& folder,
                                       bool follow_links = false);

}  // namespace headrace::inline v1
