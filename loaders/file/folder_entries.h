#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// What stands in a folder; all but `link` of what a link leads to.
struct FolderEntry {
  std::string name;
  bool link = false;
  bool folder = false;
  bool regular = false;
  std::uint64_t bytes = 0;
};

/// The entries of a folder but "." and "..", by name. Unlike std::filesystem's iterators it may run
/// out of memory without ending the process. Throws std::filesystem::filesystem_error.
std::vector<FolderEntry> folder_entries(const std::string& folder);

/// Whether a name is of what systems and programs leave behind: it begins with a dot, or is
/// "__MACOSX" or "@eaDir".
bool is_hidden(std::string_view name) noexcept;

/// The file's extension with its dot, in lower case (of ASCII); empty: it has none.
std::string extension_of(std::string_view path);

/// False, too, where the system does not say.
bool is_folder(const std::filesystem::path& path);

/// A folder's canonical name. Throws ConfigError where it is none; `who` and `must_be` say why it
/// is wanted.
std::string canonical_folder(const std::filesystem::path& folder, std::string_view who,
                             std::string_view must_be);

/// Throws ConfigError unless a link leads to a file inside `root`, a canonical folder, or where
/// `follow` is true to anything that is there. `follow`: what a key of the user's says
/// (follow_links), which the message names; none: there is no such key.
void check_link(const std::filesystem::path& link, const std::string& root, std::string_view who,
                std::optional<bool> follow = std::nullopt);

/// Says why a folder could not be listed: a ResourceError where the process lacks descriptors or
/// memory, a DataError where the disk fails, else a ConfigError.
[[noreturn]] void cannot_list(const std::filesystem::filesystem_error& failure,
                              std::string_view who);

}  // namespace headrace::inline v1::detail
