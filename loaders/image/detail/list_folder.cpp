#include <headrace/loaders/image/detail/list_folder.h>

#include <algorithm>
#include <system_error>

#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(std::string_view who, std::string_view path, const std::string& rule) {
  throw ConfigError("[" + std::string(who) + "] " + printable(path) + ": " + rule);
}

}  // namespace

std::string canonical_folder(const fs::path& folder, std::string_view who,
                             std::string_view must_be) {
  std::error_code error;
  std::string root = fs::canonical(folder, error).native();
  if (error || !fs::is_directory(root)) {
    refuse(who, folder.native(), "must be " + std::string(must_be));
  }
  return root;
}

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

std::vector<ListedFile> list_images(const std::string& root, const std::string& below,
                                    std::string_view who, std::vector<ListingProof>& proofs) {
  std::vector<ListedFile> files;
  const std::string folder = below.empty() ? root : root + "/" + below;
  try {
    proofs.push_back(folder_proof(folder));
    const auto end = fs::recursive_directory_iterator();
    for (auto at = fs::recursive_directory_iterator(folder); at != end; ++at) {
      if (at->path().filename().native().starts_with('.')) {
        at.disable_recursion_pending();
        continue;
      }
      if (at->is_symlink()) check_link(at->path(), root, who);
      if (at->is_directory()) proofs.push_back(folder_proof(at->path().native()));
      if (!has_image_extension(at->path().native()) || !at->is_regular_file()) continue;
      files.push_back({at->path().native().substr(root.size() + 1), at->file_size()});
    }
  } catch (const fs::filesystem_error& failure) {
    refuse(who, failure.path1().native(), "cannot be listed: " + failure.code().message());
  }
  std::sort(files.begin(), files.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace headrace::inline v1::detail
