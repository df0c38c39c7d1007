#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/image/detail/list/listing_cache.h>
#include <headrace/loaders/image/mask_suffix.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <map>
#include <unordered_set>

namespace headrace::inline v1 {
namespace {

constexpr std::array<std::string_view, 10> mask_words{
    "mask",         "masks", "gt",     "seg",        "segm",
    "segmentation", "label", "labels", "annotation", "groundtruth"};

// "_mask", "-GT".
bool says_mask(std::string_view suffix) {
  if (suffix.empty() || std::isalnum(static_cast<unsigned char>(suffix.front())) != 0) return false;
  std::string word(suffix.substr(1));
  std::ranges::transform(word, word.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return std::ranges::find(mask_words, word) != mask_words.end();
}

using PairCounts = std::map<std::string_view, std::size_t>;

PairCounts pairs_by_suffix(const std::vector<detail::ListedFile>& images,
                           const std::vector<detail::ListedFile>& masks) {
  std::unordered_set<std::string_view> stems;
  for (const detail::ListedFile& image : images)
    stems.insert(stem_of(image.path));
  PairCounts pairs;
  for (const detail::ListedFile& file : masks) {
    const std::string_view mask = stem_of(file.path);
    for (std::size_t end = mask.size(); end > 0 && mask[end - 1] != '/'; --end)
      if (stems.contains(mask.substr(0, end))) ++pairs[mask.substr(end)];
  }
  return pairs;
}

std::vector<std::string> best_of(const PairCounts& pairs) {
  std::vector<std::string> best;
  std::size_t most = 0;
  for (const auto& [suffix, count] : pairs) {
    if (count > most) best.clear();
    if (count >= most) best.emplace_back(suffix);
    most = std::max(most, count);
  }
  if (std::ranges::any_of(best, says_mask) && !best.front().empty())
    std::erase_if(best, [](const std::string& suffix) { return !says_mask(suffix); });
  std::ranges::stable_sort(best, {}, &std::string::size);
  return best;
}

}  // namespace

std::string_view stem_of(std::string_view path) {
  const std::size_t dot = path.find_last_of("./");
  return dot != std::string_view::npos && path[dot] == '.' ? path.substr(0, dot) : path;
}

std::vector<std::string> find_mask_suffixes(const std::filesystem::path& images,
                                            const std::filesystem::path& masks, bool follow_links) {
  constexpr std::string_view who = "pictures";
  const auto list = [&](const std::filesystem::path& folder) {
    detail::ListingSeen seen{.proofs = {}, .passed_over = {}, .follow_links = follow_links};
    const std::string root = detail::canonical_folder(folder, who, "a folder of pictures");
    return detail::list_files(detail::image_search(root, who, seen), "");
  };
  const std::vector<detail::ListedFile> image_files = list(images);
  if (!std::filesystem::equivalent(images, masks)) {
    const std::vector<detail::ListedFile> mask_files = list(masks);
    return best_of(pairs_by_suffix(image_files, mask_files));
  }
  PairCounts pairs = pairs_by_suffix(image_files, image_files);
  std::erase_if(pairs, [&](const auto& one) {
    return !says_mask(one.first) || 4 * one.second < image_files.size();
  });
  return best_of(pairs);
}

}  // namespace headrace::inline v1
