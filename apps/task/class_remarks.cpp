#include <headrace/apps/task/class_remarks.h>
#include <headrace/apps/task/data_set.h>
#include <headrace/engine/base/printable.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::array<std::string_view, 8> missing_values{"na",   "n/a", "nan", "none",
                                                         "null", "nil", "?",   "-"};

bool is_number(const std::string& name) {
  return name.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::vector<std::string> class_remarks(const std::vector<std::string>& classes) {
  std::vector<std::string> remarks;
  std::map<std::string, const std::string*> seen;
  for (const std::string& name : classes) {
    const std::string small = lower_case(name);
    const auto [at, fresh] = seen.try_emplace(small, &name);
    if (!fresh)
      remarks.push_back(
          fmt::format("classes \"{}\" and \"{}\" differ by capitals alone, and are two",
                      printable(*at->second, 60), printable(name, 60)));
    if (std::ranges::find(missing_values, small) != missing_values.end())
      remarks.push_back(fmt::format("class \"{}\" may stand for a missing value", name));
  }
  const auto number = std::ranges::find_if(classes, is_number);
  const auto name = std::ranges::find_if_not(classes, is_number);
  if (number != classes.end() && name != classes.end())
    remarks.push_back(fmt::format("classes are numbers and names, \"{}\" and \"{}\" for two",
                                  *number, printable(*name, 60)));
  return remarks;
}

}  // namespace headrace::inline v1::app
