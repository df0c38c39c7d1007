#include <headrace/apps/task/volume_copies.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/printable.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/volume/nifti_volume.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// A word for the bytes of a label; empty: it has none that can be read.
std::string label_word(const fs::path& label) {
  if (label.empty()) return "";
  std::uint64_t sum = 0;
  try {
    for (const std::string& file : files_of_volume(label))
      sum = sum * 31 + headrace::detail::content_sum(file);
  } catch (const Error&) {
    return "";  // whoever reads it says why
  }
  return fmt::format("label {:08x}", sum & 0xffffffffU);
}

std::vector<std::string> files_of_case(const NnUNetCase& one) {
  std::vector<std::string> all;
  for (const fs::path& image : one.images)
    for (std::string& file : files_of_volume(image))
      all.push_back(std::move(file));
  return all;
}

}  // namespace

std::vector<std::string> files_of_volume(const fs::path& volume) {
  std::error_code failed;
  std::vector<std::string> files;
  if (!fs::is_directory(volume, failed)) {
    files.push_back(volume.native());
    const fs::path partner = nifti_partner(volume);
    if (!partner.empty() && fs::exists(partner, failed)) files.push_back(partner.native());
    return files;
  }
  for (fs::recursive_directory_iterator at(volume, failed), end; !failed && at != end;
       at.increment(failed))
    if (at->is_regular_file(failed)) files.push_back(at->path().native());
  std::ranges::sort(files);
  return files;
}

std::uint64_t bytes_of_files(const std::vector<std::string>& files) {
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code failed;
    const std::uintmax_t own = fs::file_size(file, failed);
    if (failed) return 0;
    bytes += own;
  }
  return bytes;
}

CopyList copy_list(Side side, const fs::path& folder, std::vector<NnUNetCase> cases) {
  const auto kept = std::make_shared<const std::vector<NnUNetCase>>(std::move(cases));
  const auto files = [kept](std::size_t i) { return files_of_case((*kept)[i]); };
  return {.side = side,
          .place = folder.native(),
          .size = kept->size(),
          .bytes = [files](std::size_t i) { return bytes_of_files(files(i)); },
          .files = files,
          .name = [kept](std::size_t i) { return printable((*kept)[i].name); },
          .label = [kept](std::size_t i) { return label_word((*kept)[i].label); }};
}

PlacedList placed_list(std::vector<NnUNetCase> cases, std::vector<std::int64_t> numbers) {
  const std::size_t size = numbers.size();
  return {.size = size,
          .place = [cases = std::move(cases), numbers = std::move(numbers)](std::size_t i) {
            const NnUNetCase& one = cases.at(static_cast<std::size_t>(numbers[i]));
            RecordPlace place{.name = one.images.front().filename().native(),
                              .files = files_of_case(one)};
            place.bytes = bytes_of_files(place.files);
            return place;
          }};
}

}  // namespace headrace::inline v1::app
