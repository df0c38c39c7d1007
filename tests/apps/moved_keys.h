#pragma once

#include <headrace/apps/config/fields.h>

#include <string>
#include <vector>

namespace headrace::test {

/// What is said of a configuration "job.yaml" whose keys are all gone.
std::string said(const std::vector<app::MovedKey>& keys, const std::string& text,
                 const std::string& setting = "");

struct OldKey {
  std::string text{};
  std::string sentence{};  ///< From the first place on, "2:3: data.flip is now ...".
};

/// CHECKs what is said of each.
void check_moved(const std::vector<app::MovedKey>& keys, const std::vector<OldKey>& all);

/// What `headrace bench loader` says of a configuration that it refuses with exit 2.
std::string bench_refusal(const std::string& text);

/// CHECKs that every key that advice names is among `keys`.
void check_advised_keys(const std::vector<std::string>& keys);

}  // namespace headrace::test
