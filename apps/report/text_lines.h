#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace headrace::inline v1::app {

/// Lines of a file that a run writes, or has written when it was killed.
struct LineCount {
  bool there = false;        ///< the file is there and can be read
  bool refused = false;      ///< it is there and cannot be read
  std::uint64_t lines = 0;   ///< that were handed over
  std::uint64_t broken = 0;  ///< left out: torn, too long, not what the file is made of
};

/// Longest line that is handed over, in bytes.
inline constexpr std::size_t longest_line = std::size_t{1} << 20;

/// Hands over each line without its line end, one at a time: the file may have any size. A last
/// line without a line end is handed over, too.
LineCount for_each_line(const std::filesystem::path& file,
                        const std::function<void(const std::string& line)>& take);

/// Whether lists and objects in a JSON text lie in each other more than 64 deep: what reads,
/// copies or writes them takes stack for each.
bool nests_deeply(std::string_view json);

/// The same of a file with a JSON object a line. Lines that are none or nest deeply are counted and
/// left out.
LineCount for_each_object(const std::filesystem::path& file,
                          const std::function<void(const nlohmann::json& object)>& take);

/// The number of that name, or `otherwise`.
double number_in(const nlohmann::json& object, const char* name, double otherwise);
/// The text of that name; of a number, a truth value or null what JSON writes; empty without one.
std::string text_in(const nlohmann::json& object, const char* name);

}  // namespace headrace::inline v1::app
