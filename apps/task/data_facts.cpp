#include <headrace/apps/task/data_facts.h>
#include <headrace/apps/task/find_arrays.h>
#include <headrace/engine/base/printable.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_named = 8;
constexpr std::size_t longest_class = 60;

std::string class_line(const DataFacts& facts) {
  std::string line = fmt::format("{} classes: ", facts.classes.size());
  for (std::size_t i = 0; i < facts.classes.size(); ++i) {
    if (i == most_named) return line + fmt::format(" and {} more", facts.classes.size() - i);
    line += fmt::format("{}{} {}", i == 0 ? "" : ", ",
                        printable(facts.classes[i].first, longest_class), facts.classes[i].second);
  }
  return line;
}

std::string record_line(const DataFacts& facts) {
  if (!facts.array)
    return fmt::format("{} pictures, median {} x {} pixels", facts.records, facts.width,
                       facts.height);
  const ArrayFacts& array = *facts.array;
  return fmt::format(
      "{} {} {} {}{}, {} in all", facts.records, facts.vectors() ? "vectors" : "spectrograms",
      name_of(array.record.dtype), to_string(array.record.shape),
      array.frames > 0 ? fmt::format(" at most, median {} frames", array.frames) : "",
      monitor::format_bytes(array.bytes));
}

void add_bad_lines(std::vector<std::string>& lines, const DataFacts& facts) {
  if (facts.bad.empty() && facts.judged_bad.empty())
    return lines.push_back("no bad file among those read");
  const auto add = [&](const std::vector<std::string>& bad, std::int64_t of, const char* what) {
    if (bad.empty()) return;
    lines.push_back(
        fmt::format("{} of the {}{} read cannot be; data.bad_samples says what becomes "
                    "of them",
                    bad.size(), of, what));
    for (std::size_t i = 0; i < std::min<std::size_t>(bad.size(), 3); ++i)
      lines.push_back("bad: " + printable(bad[i]));
  };
  add(facts.bad, facts.looked_at, "");
  add(facts.judged_bad, facts.judged_looked_at, " of validation and test");
  if (!facts.array) lines.push_back("\"headrace inspect\" names them all");
}

}  // namespace

std::int64_t DataFacts::records_to_train() const {
  const double share = SplitSettings::usual;
  const double apart =
      splits ? 2 * share : (found.validation ? 0.0 : share) + (found.test ? 0.0 : share);
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(records) * (1.0 - apart)));
}

int side_for(const DataFacts& facts, int most) {
  constexpr std::array<int, 9> usual{32, 64, 96, 128, 160, 192, 224, 256, 384};
  const int shorter = std::min({facts.width, facts.height, most});
  const auto above = std::upper_bound(usual.begin(), usual.end(), shorter);
  return above == usual.begin() ? usual.front() : *(above - 1);
}

double imbalance_of(const DataFacts& facts) {
  if (facts.classes.empty()) return 1.0;
  const auto [least, most] =
      std::minmax_element(facts.classes.begin(), facts.classes.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  return static_cast<double>(most->second) /
         static_cast<double>(std::max<std::int64_t>(1, least->second));
}

std::vector<std::string> describe(const DataFacts& facts) {
  std::vector<std::string> lines{record_line(facts)};
  for (std::string& line : describe_choice(facts.found))
    lines.push_back(std::move(line));
  for (const auto& [name, part] :
       {std::pair("validation", &facts.found.validation), std::pair("test", &facts.found.test)})
    if (*part)
      lines.push_back(
          fmt::format("{}: {}{}, found beside the records to train on", name,
                      ((*part)->file.empty() ? (*part)->folder : (*part)->file).native(),
                      (*part)->data.empty() ? "" : ":" + (*part)->data));
  if (!facts.classes.empty()) lines.push_back(class_line(facts));
  if (!facts.of_groups.empty()) lines.push_back(facts.of_groups);
  if (facts.looked_at < facts.records)
    lines.push_back(fmt::format("{} of them were read, evenly spread", facts.looked_at));
  if (facts.dim > 0)
    lines.push_back(fmt::format(
        "{} of them have 12 bits in 16 and become nearly black: save them times 16", facts.dim));
  add_bad_lines(lines, facts);
  lines.insert(lines.end(), facts.of_masks.begin(), facts.of_masks.end());
  lines.push_back(fmt::format("this machine: {} cores, {} for this process, {}", facts.cores,
                              monitor::format_bytes(facts.memory), facts.gpu ? "a GPU" : "no GPU"));
  return lines;
}

}  // namespace headrace::inline v1::app
