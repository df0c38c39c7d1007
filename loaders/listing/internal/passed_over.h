#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// The files of a folder that are left out, counted by extension or reason, and those that are
/// taken for what they begin with, whatever they are called.
class PassedOver {
 public:
  /// One that is left out for a reason other than its name's end: "hidden".
  void add(const std::string& reason) { ++kinds_[reason].left_out; }
  /// Whether a file of a name that is not looked for begins as what is. Counts it. Looks into the
  /// first hundreds of each extension, and into the rest where most of those were taken.
  bool take(const std::string& file, bool (*begins)(std::span<const std::byte> start));
  /// `text()` in brackets, for a message that says that there is nothing else.
  std::string in_brackets() const;
  /// "left out: 2 .heic, 1 hidden; taken for their first bytes: 3 without extension", the most
  /// first; empty where there is none.
  std::string text() const;

 private:
  struct Kind {
    std::uint64_t left_out = 0, taken = 0;
  };

  Kind& kind_of(const std::string& file);
  std::string counts(std::uint64_t Kind::*count) const;

  std::map<std::string, Kind> kinds_;
};

}  // namespace headrace::inline v1::detail
