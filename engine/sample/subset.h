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

/// A view of a source by indices: folds, train and validation. Shares the source; 8 bytes an index.
class HEADRACE_API Subset final : public Source {
 public:
  /// Throws ConfigError for an index outside the source.
  Subset(std::shared_ptr<const Source> source, std::vector<std::int64_t> indices);

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  void read(std::int64_t index, Sample& sample) const override;
  bool read_now(std::int64_t index, Sample& sample) const override;
  bool blocking() const override;
  bool gathers() const override;
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;
  std::int64_t preferred_rows() const override;
  std::size_t working_bytes(std::int64_t index) const override;
  std::size_t largest_working_bytes() const override;
  std::size_t resident_bytes() const override;
  std::string origin(std::int64_t index) const override;
  std::int64_t part(std::int64_t index) const override;

 private:
  std::shared_ptr<const Source> source_;
  std::vector<std::int64_t> indices_;
};

}  // namespace headrace::inline v1
