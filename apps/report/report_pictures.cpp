#include <headrace/apps/plot/markup.h>
#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_bytes = 800'000;  // of all pictures together
constexpr std::size_t most_pictures = 20;

std::string base64(const std::vector<std::byte>& bytes) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8U | (i + k < bytes.size() ? std::to_integer<unsigned>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? letters[bits >> (18U - 6U * k) & 63U] : '=';
  }
  return text;
}

// Those of the run first, then what lies in plots/, by name.
std::vector<fs::path> pictures_of(const fs::path& folder) {
  std::vector<fs::path> pictures{folder / "results.png", folder / "worst.png"};
  std::vector<fs::path> plots;
  std::error_code error;
  for (fs::directory_iterator at(folder / "plots", error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".png") plots.push_back(at->path());
  std::sort(plots.begin(), plots.end());
  plots.resize(std::min(plots.size(), most_pictures));
  pictures.insert(pictures.end(), plots.begin(), plots.end());
  return pictures;
}

bool is_png(const std::vector<std::byte>& bytes) {
  return bytes.size() > 8 && bytes[0] == std::byte{0x89} && bytes[1] == std::byte{'P'} &&
         bytes[2] == std::byte{'N'} && bytes[3] == std::byte{'G'};
}

}  // namespace

std::string report_pictures(const RunRecord& run) {
  std::string html;
  std::uint64_t left = most_bytes;
  for (const fs::path& file : pictures_of(run.folder)) {
    std::error_code error;
    if (!fs::is_regular_file(file, error)) continue;
    const std::string name = fs::relative(file, run.folder, error).string();
    const std::uintmax_t size = fs::file_size(file, error);
    if (error || size > left) {
      html += paragraph(name + " is too large for this page; it lies in the run's folder", "faint");
      continue;
    }
    std::vector<std::byte> bytes;
    try {
      bytes = read_whole_file(file, "report", left);
    } catch (const ResourceError& failure) {
      html += paragraph(failure.what(), "faint");
      continue;
    }
    if (!is_png(bytes)) continue;
    left -= bytes.size();
    html += fmt::format(
        "<figure class=\"picture\"><figcaption>{0}</figcaption><img class=\"picture\" alt=\"{0}\" "
        "src=\"data:image/png;base64,{1}\"/></figure>\n",
        escaped(name), base64(bytes));
  }
  return section("Pictures", html);
}

}  // namespace headrace::inline v1::app
