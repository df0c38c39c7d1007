#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include <headrace/engine/error.h>
#include <headrace/engine/pipeline.h>

namespace headrace::inline v1::detail {

/// Counts bad samples against their budget and writes one JSON line for each.
class BadSampleLog {
 public:
  BadSampleLog(BadSamples rule, std::string loader)
      : rule_(std::move(rule)), loader_(std::move(loader)) {}

  struct Case {
    std::string stage;
    Origin origin;
    std::string cause;
    std::int64_t replacement = -1;  ///< index of the record tried instead, or -1
  };

  /// Returns why the run must end, empty while the budget holds. `epoch_samples` is what the share
  /// refers to.
  std::string add(const Case& bad, std::int64_t epoch_samples);
  std::int64_t count() const;

 private:
  void write(const Case& bad);

  BadSamples rule_;
  std::string loader_;
  mutable std::mutex mutex_;
  std::int64_t count_ = 0;
  std::map<std::int64_t, std::int64_t> by_epoch_;
  std::ofstream file_;
};

}  // namespace headrace::inline v1::detail
