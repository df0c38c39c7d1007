#include <headrace/apps/doctor/checks/checks.h>
#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/format.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using headrace::detail::keyed_number;
using headrace::detail::read_small_file;
using monitor::Severity;

constexpr const char* switch_file = "sys/kernel/mm/transparent_hugepage/enabled";

// "always [madvise] never"
std::string chosen_word(std::string_view text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  return std::string(text.substr(open + 1, close - open - 1));
}

Finding transparent(const std::filesystem::path& root) {
  constexpr const char* what = "transparent huge pages";
  const auto text = read_small_file(root / switch_file);
  if (!text) return unknown(what, fmt::format("{} cannot be read", switch_file));
  const std::string word = chosen_word(*text);
  if (word.empty()) return unknown(what, fmt::format("{} is not understood", switch_file));
  Finding finding{.what = what, .found = word, .wanted = "madvise or always"};
  if (word != "never") return finding;
  finding.severity = Severity::notice;
  finding.way_out =
      fmt::format("as root: echo madvise > /{} (batches then take fewer page faults)", switch_file);
  return finding;
}

// Pages that are set aside are lost to everybody who does not ask for them, and no part of us does.
Finding set_aside(const std::filesystem::path& root) {
  constexpr const char* what = "huge pages set aside";
  const std::string text = read_small_file(root / "proc/meminfo").value_or("");
  const auto total = keyed_number(text, "MemTotal");
  const auto free = keyed_number(text, "HugePages_Free");
  const auto size = keyed_number(text, "Hugepagesize");
  if (!total || !free || !size) return unknown(what, "proc/meminfo does not say");
  const std::uint64_t unused = *free * *size;
  Finding finding{.what = what,
                  .found = unused == 0 ? "none unused" : monitor::format_bytes(unused) + " unused",
                  .wanted = "none unused"};
  constexpr double much = 0.05;
  if (static_cast<double>(unused) <= much * static_cast<double>(*total)) return finding;
  finding.severity = Severity::warning;
  finding.way_out = "as root: sysctl vm.nr_hugepages=0, unless another program waits for them";
  return finding;
}

}  // namespace

void check_huge_pages(const EnvironmentOptions& options, Findings& findings) {
  findings.push_back(transparent(options.root));
  findings.push_back(set_aside(options.root));
}

}  // namespace headrace::inline v1::app
