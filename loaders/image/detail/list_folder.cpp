#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/image/detail/list_folder.h>
#include <headrace/loaders/image/image_formats.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {
namespace fs = std::filesystem;

namespace {

/// What list_images() looks for, and what it has found.
struct Search {
  const std::string& root;
  std::string_view who;
  std::vector<ListingProof>& proofs;
  std::vector<ListedFile> files{};
};

void list_below(Search& search, const std::string& below) {
  const std::string folder = below.empty() ? search.root : search.root + "/" + below;
  search.proofs.push_back(folder_proof(folder));
  for (const FolderEntry& entry : folder_entries(folder)) {
    if (entry.name.starts_with('.')) continue;
    const std::string path = below.empty() ? entry.name : below + "/" + entry.name;
    if (entry.link) check_link(search.root + "/" + path, search.root, search.who);
    if (entry.folder) {
      list_below(search, path);
    } else if (entry.regular && has_image_extension(path)) {
      search.files.push_back({path, entry.bytes});
    }
  }
}

}  // namespace

std::vector<ListedFile> list_images(const std::string& root, const std::string& below,
                                    std::string_view who, std::vector<ListingProof>& proofs) {
  Search search{root, who, proofs};
  try {
    list_below(search, below);
  } catch (const fs::filesystem_error& failure) {
    cannot_list(failure, who);
  }
  std::ranges::sort(search.files, {}, &ListedFile::path);
  return std::move(search.files);
}

}  // namespace headrace::inline v1::detail
