#pragma once

#include <headrace/apps/feed/planned_source.h>
#include <headrace/apps/jobs/leak/file.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/device.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The short segments of all recordings of a file as samples, recording after recording: `mel`
/// float16 [mels, frames] and `label` int64 [], that of the recording.
class LeakSegments final : public Source {
 public:
  /// `recordings` gives rows of `mel` [long, short, mels, frames]; with `in_memory` it lends them
  /// for as long as it lives, and batches are gathered from there; else from the file, fast for
  /// segments in their order.
  LeakSegments(std::shared_ptr<const Source> recordings, LeakFile file, bool in_memory = false);

  std::string name() const override { return recordings_->name(); }
  std::int64_t size() const override;
  Schema fields() const override;
  void read(std::int64_t index, Sample& sample) const override;
  bool blocking() const override { return recordings_->blocking(); }
  bool gathers() const override { return true; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;
  std::size_t working_bytes(std::int64_t index) const override;
  std::size_t largest_working_bytes() const override { return working_bytes(0); }
  std::size_t resident_bytes() const override { return recordings_->resident_bytes(); }
  std::string origin(std::int64_t index) const override;

 private:
  const float16_t* cells_of(std::int64_t index) const;
  void gather_from_file(std::span<const std::int64_t> indices, const Rows& rows) const;
  void copy_row(std::int64_t index, const float16_t* cells, const Rows& rows, std::size_t k) const;

  std::shared_ptr<const Source> recordings_;
  LeakFile file_;
  std::vector<Tensor> lent_;  ///< the recordings, where the table keeps them in memory
};

/// The fields of a segment.
Schema leak_fields(const LeakFile& file);

/// Plans a file's segments; open() copies the file to the folder `stage` first, where one is named,
/// keeps the segments in memory and throws ResourceError when they take more than `memory` bytes.
PlannedSource plan_leak_segments(const LeakFile& file, std::size_t memory,
                                 const std::filesystem::path& stage = {});

/// The same as a DeviceTable on `device`; open() reads the file straight into it.
PlannedSource plan_leak_table(const LeakFile& file, std::size_t memory,
                              const std::filesystem::path& stage, Device device);

}  // namespace headrace::inline v1::app
