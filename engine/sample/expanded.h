#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Several samples from each record: record r stands for counts[r] samples (patches of a volume,
/// say). The expansion position -> (record, part) is known before anything is read; the part is in
/// Sample::origin().part, so operations can use it, and random ones draw anew for each part.
class HEADRACE_API Expanded final : public Source {
 public:
  Expanded(std::shared_ptr<const Source> source, std::int64_t each);
  /// Throws ConfigError when there is not one non-negative count for each record.
  Expanded(std::shared_ptr<const Source> source, std::span<const std::int64_t> counts);

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  void read(std::int64_t index, Sample& sample) const override;
  bool read_now(std::int64_t index, Sample& sample) const override;
  bool blocking() const override;
  std::size_t working_bytes(std::int64_t index) const override;
  std::size_t largest_working_bytes() const override;
  std::size_t resident_bytes() const override;
  std::string origin(std::int64_t index) const override;
  std::int64_t part(std::int64_t index) const override;

 private:
  std::int64_t record(std::int64_t index) const;

  std::shared_ptr<const Source> source_;
  std::int64_t each_ = 0;
  std::vector<std::int64_t> first_;
};

}  // namespace headrace::inline v1
