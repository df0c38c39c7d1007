#include <headrace/models/networks/detail/script_message.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>
#include <utility>

#include <c10/util/Exception.h>

namespace headrace::inline v1::models::detail {

namespace {

constexpr std::size_t longest = 300;

// What follows "RuntimeError: " or "builtins.ValueError: " at the beginning of a line, else
// nothing.
std::string after_error_name(const std::string& line) {
  constexpr std::string_view word = "Error: ";
  const std::size_t end = line.find(word);
  if (end == std::string::npos) return {};
  const bool a_name = std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end),
                                  [](unsigned char c) { return std::isalnum(c) || c == '.'; });
  if (!a_name) return {};
  const std::string reason = line.substr(end + word.size());
  const std::string inner = after_error_name(reason);
  return inner.empty() ? reason : inner;
}

std::string without_advice(std::string line) {
  for (const char* advice : {" This is an internal miniz error", " (Could this error message"})
    line = line.substr(0, line.find(advice));
  return line;
}

}  // namespace

std::string short_message(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  std::istringstream text(of_torch != nullptr ? of_torch->what_without_backtrace() : error.what());
  std::string first;
  std::string reason;
  for (std::string line; std::getline(text, line);) {
    if (first.empty()) first = without_advice(line);
    if (std::string named = after_error_name(line); !named.empty()) reason = std::move(named);
  }
  std::string message = reason.empty() ? first : reason;
  while (!message.empty() && (std::isspace(static_cast<unsigned char>(message.back())) != 0 ||
                              message.back() == '.' || message.back() == ':'))
    message.pop_back();
  if (message.size() > longest) message = message.substr(0, longest) + "...";
  return message;
}

}  // namespace headrace::inline v1::models::detail
