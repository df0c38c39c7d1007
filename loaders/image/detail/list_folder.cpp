#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/image/detail/list_folder.h>
#include <headrace/loaders/image/image_formats.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(std::string_view who, std::string_view path, const std::string& rule) {
  throw ConfigError("[" + std::string(who) + "] " + printable(path) + ": " + rule);
}

}  // namespace

void check_link(const fs::path& link, const std::string& root, std::string_view who) {
  std::error_code error;
  const fs::path target = fs::canonical(link, error);
  if (error) refuse(who, link.native(), "link leads nowhere (" + error.message() + "); remove it");
  if (!target.native().starts_with(root + "/")) {
    refuse(who, link.native(),
           "link leaves the folder, to " + printable(target.native()) +
               "; copy the file, or name the folder that holds both");
  }
  if (fs::is_directory(target)) {
    refuse(who, link.native(),
           "link to a folder is not followed; copy it, or list that folder itself");
  }
}

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
