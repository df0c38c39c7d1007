#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/case/nnunet_dataset_json.h>
#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/loaders/volume/open_volume.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view nnunet_raw_name = "nnU-Net raw data";
constexpr std::size_t channel_digits = 4;

[[noreturn]] void refuse_raw_data(const std::string& rule) {
  throw ConfigError("[" + std::string(nnunet_raw_name) + "] " + rule);
}

/// Names in a folder of the data set that end as its files do.
std::vector<std::string> names_in(const NnUNetRaw& raw, const std::string& folder) {
  const std::string path = (raw.folder / folder).native();
  std::vector<std::string> names;
  std::string other;
  try {
    for (const detail::FolderEntry& entry : detail::folder_entries(path)) {
      if (entry.name.starts_with('.')) continue;
      if (!entry.name.ends_with(raw.file_ending) || entry.name.size() == raw.file_ending.size()) {
        other = entry.name;
        continue;
      }
      if (entry.link)
        detail::check_link(path + "/" + entry.name, raw.folder.native(), nnunet_raw_name,
                           raw.follow_links);
      names.push_back(entry.name.substr(0, entry.name.size() - raw.file_ending.size()));
    }
  } catch (const fs::filesystem_error& failure) {
    detail::cannot_list(failure, nnunet_raw_name);
  }
  std::ranges::sort(names);  // "a" comes before "a-b", unlike "a.nii" and "a-b.nii"
  if (names.empty()) {
    refuse_raw_data(detail::printable(path) +
                    ": must hold files of dataset.json's \"file_ending\", " +
                    detail::quoted(raw.file_ending) +
                    (other.empty() ? ", is empty" : ", got " + detail::quoted(other)));
  }
  return names;
}

void refuse_pictures(const NnUNetRaw& raw) {
  for (const char* picture : {".png", ".jpg", ".jpeg", ".bmp", ".webp"}) {
    if (raw.file_ending != picture) continue;
    refuse_raw_data(
        "dataset.json: \"file_ending\" must be that of volumes, got \"" + raw.file_ending +
        "\"; pictures are learnt from with their masks: name a list (CSV) of the columns "
        "image and mask instead of this folder, with rows such as imagesTr/CASE_0000" +
        raw.file_ending + ",labelsTr/CASE" + raw.file_ending);
  }
}

std::string channel_suffix(std::size_t channel) {
  std::string digits = std::to_string(channel);
  return "_" + std::string(channel_digits - std::min(digits.size(), channel_digits), '0') + digits;
}

/// Which channels of which case a folder holds.
std::map<std::string, std::set<std::size_t>> channels_in(const NnUNetRaw& raw,
                                                         const std::string& folder) {
  std::map<std::string, std::set<std::size_t>> found;
  for (const std::string& name : names_in(raw, folder)) {
    const std::string_view digits =
        std::string_view(name).substr(name.size() - std::min(name.size(), channel_digits));
    const bool numbered =
        name.size() > channel_digits + 1 && name[name.size() - channel_digits - 1] == '_' &&
        std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c); });
    if (!numbered) {
      refuse_raw_data(detail::printable(folder) + "/" + detail::printable(name + raw.file_ending) +
                      ": an image must be named CASE_NNNN" + detail::printable(raw.file_ending) +
                      ", where NNNN is its channel; rename it to CASE_0000" +
                      detail::printable(raw.file_ending) + " if it is the first, or move it away");
    }
    found[name.substr(0, name.size() - channel_digits - 1)].insert(
        static_cast<std::size_t>(std::stoul(std::string(digits))));
  }
  return found;
}

std::vector<NnUNetCase> cases_in(const NnUNetRaw& raw, const std::string& folder) {
  std::vector<NnUNetCase> cases;
  for (const auto& [name, channels] : channels_in(raw, folder)) {
    NnUNetCase made{.name = name};
    const std::string in = "case " + detail::quoted(name) + " in " + folder;
    for (std::size_t channel = 0; channel < raw.channels.size(); ++channel) {
      const std::string file = name + channel_suffix(channel) + raw.file_ending;
      if (!channels.contains(channel)) {
        refuse_raw_data(in + ": channel " + std::to_string(channel) + " (" +
                        detail::quoted(raw.channels[channel]) + ") is missing; add " +
                        detail::printable(file) + ", or take the case away");
      }
      made.images.push_back(raw.folder / folder / file);
    }
    if (channels.size() > raw.channels.size()) {
      refuse_raw_data(
          in + ": must have the " + std::to_string(raw.channels.size()) +
          " channels of dataset.json's \"channel_names\", got channel " +
          std::to_string(*channels.rbegin()) + ", too; name it there, or take " +
          detail::printable(name + channel_suffix(*channels.rbegin()) + raw.file_ending) + " away");
    }
    cases.push_back(std::move(made));
  }
  return cases;
}

void add_labels(NnUNetRaw& raw) {
  const std::vector<std::string> names = names_in(raw, "labelsTr");
  std::vector<std::string> without_images;
  for (const std::string& name : names)
    if (!std::ranges::binary_search(raw.cases, name, {}, &NnUNetCase::name))
      without_images.push_back(name);
  for (NnUNetCase& made : raw.cases) {
    const std::string file = made.name + raw.file_ending;
    if (!std::ranges::binary_search(names, made.name)) {
      refuse_raw_data("case " + detail::quoted(made.name) +
                      ": its images need a label, got none; add labelsTr/" +
                      detail::printable(file) + ", or move the images to imagesTs" +
                      did_you_mean(made.name, without_images));
    }
    made.label = raw.folder / "labelsTr" / file;
  }
  if (!without_images.empty()) {
    const std::string& name = without_images.front();
    refuse_raw_data(
        "case " + detail::quoted(name) + ": its label needs images, got none; add imagesTr/" +
        detail::printable(name + channel_suffix(0) + raw.file_ending) + ", or take the label away");
  }
}

/// What follows "_0000" in the names of a folder's volumes; other files may lie beside them.
std::string ending_in(const fs::path& folder) {
  const std::string first = channel_suffix(0) + ".";
  std::string ending;
  std::string other;
  try {
    for (const detail::FolderEntry& entry : detail::folder_entries(folder.native())) {
      if (entry.name.starts_with('.')) continue;
      const std::size_t at = entry.name.rfind(first);
      if (at == std::string::npos || at == 0 || !is_named_as_volume(entry.name)) {
        other = entry.name;
        continue;
      }
      const std::string here = entry.name.substr(at + first.size() - 1);
      if (!ending.empty() && here != ending) {
        refuse_raw_data(detail::printable(folder.native()) + ": images must have one ending, got " +
                        detail::quoted(ending) + " and " + detail::quoted(here) +
                        "; keep those of another in a folder of their own");
      }
      ending = here;
    }
  } catch (const fs::filesystem_error& failure) {
    detail::cannot_list(failure, nnunet_raw_name);
  }
  if (!ending.empty()) return ending;
  refuse_raw_data(detail::printable(folder.native()) +
                  ": must hold images named CASE_NNNN.ENDING, where NNNN is the channel, " +
                  (other.empty()
                       ? "is empty"
                       : "got " + detail::quoted(other) + "; rename it to CASE_0000.ENDING"));
}

}  // namespace

bool NnUNetRaw::regions() const noexcept {
  return std::ranges::any_of(labels, [](const NnUNetLabel& l) { return l.values.size() > 1; });
}

std::vector<std::int64_t> NnUNetRaw::values() const {
  std::set<std::int64_t> values;
  for (const NnUNetLabel& label : labels)
    values.insert(label.values.begin(), label.values.end());
  if (ignore) values.insert(*ignore);
  return {values.begin(), values.end()};
}

std::vector<NnUNetCase> list_nnunet_cases(const fs::path& images, std::size_t channels,
                                          const fs::path& labels, bool follow_links) {
  const fs::path folder = detail::canonical_folder(images, nnunet_raw_name, "a folder of images");
  NnUNetRaw raw{.folder = folder.parent_path(),
                .file_ending = ending_in(folder),
                .follow_links = follow_links};
  for (std::size_t channel = 0; channel < channels; ++channel)
    raw.channels.push_back("channel " + std::to_string(channel));
  std::vector<NnUNetCase> cases = cases_in(raw, folder.filename().string());
  std::error_code none;
  for (NnUNetCase& made : cases) {
    const fs::path label = labels / (made.name + raw.file_ending);
    // One that is there but cannot be looked at is told of when it is opened.
    if (!labels.empty() && fs::symlink_status(label, none).type() != fs::file_type::not_found)
      made.label = label;
  }
  return cases;
}

bool is_nnunet_raw(const fs::path& folder) {
  std::error_code none;
  return fs::is_regular_file(folder / "dataset.json", none) &&
         detail::is_folder(folder / "imagesTr");
}

NnUNetRaw read_nnunet_raw(const fs::path& folder, bool follow_links) {
  NnUNetRaw raw{.folder = detail::canonical_folder(
                    folder, nnunet_raw_name, "a folder with imagesTr, labelsTr and dataset.json"),
                .follow_links = follow_links};
  const detail::DatasetJson json = detail::read_dataset_json(raw);
  refuse_pictures(raw);
  for (const char* part : {"imagesTr", "labelsTr"}) {
    if (!detail::is_folder(raw.folder / part))
      refuse_raw_data(detail::printable(raw.folder.native()) + ": must have a folder " + part);
  }
  raw.cases = cases_in(raw, "imagesTr");
  add_labels(raw);
  std::error_code none;
  if (detail::is_folder(raw.folder / "imagesTs") && !fs::is_empty(raw.folder / "imagesTs", none))
    raw.test = cases_in(raw, "imagesTs");
  if (json.cases != static_cast<std::int64_t>(raw.cases.size())) {
    refuse_raw_data("dataset.json: \"numTraining\" must be the number of cases in imagesTr, " +
                    std::to_string(raw.cases.size()) + ", got " + std::to_string(json.cases) +
                    "; correct it, or find the cases that lack");
  }
  return raw;
}

}  // namespace headrace::inline v1
