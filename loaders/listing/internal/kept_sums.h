#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// Sums of the contents of files, kept between runs by path, size and time of change. 32 bytes a
/// file stay in memory.
class KeptSums {
 public:
  /// Those that `file` keeps; one that is not there or cannot be read keeps none. Empty: nothing is
  /// kept.
  explicit KeptSums(std::filesystem::path file);

  /// content_sample() of a file, or content_sum() where `whole`. None where it cannot be read:
  /// whoever reads its records says why. Any thread. Throws ResourceError.
  std::optional<std::uint64_t> of(const std::string& path, bool whole);
  /// What `make` says of a file, unless that is kept as this kind of sum. Any thread. Throws what
  /// it throws, and DataError for no file.
  std::uint64_t of(const std::string& path, std::uint64_t kind,
                   const std::function<std::uint64_t()>& make);

  /// A number that goes with what is kept, 0 at first.
  std::uint64_t remark() const noexcept { return remark_; }
  void set_remark(std::uint64_t remark) noexcept;

  /// Writes what is new. A file that cannot be written costs reading anew, nothing more.
  void keep();

 private:
  struct Sum {
    std::uint64_t key = 0;  // of path and kind
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
    std::uint64_t sum = 0;
  };

  std::filesystem::path file_;
  std::vector<Sum> kept_;  // by key
  std::mutex mutex_;       // for fresh_
  std::vector<Sum> fresh_;
  std::uint64_t remark_ = 0;
  bool changed_ = false;
};

}  // namespace headrace::inline v1::detail
