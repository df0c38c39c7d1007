#pragma once

#include <headrace/engine/batch/batch.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/device.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace headrace::inline v1 {

struct DeviceTableOptions {
  Device device{};         ///< where the table lies and its batches are made
  std::size_t memory = 0;  ///< bytes that it may take; 0: what a device has free, on the CPU any
  std::string field = "table_row";  ///< of the samples: their row number
};

/// All records of a source in the memory of a device, so that a batch is one gather kernel and
/// only row numbers travel. As a source it has the records, order and origins of the other, and
/// its samples are int64 [] row numbers; after batch(), gather_step() makes the fields of them:
///
///   auto table = std::make_shared<DeviceTable>(source, DeviceTableOptions{.device = device});
///   table->load();
///   Pipeline::from(table).order(order).batch(batching).to(device).then(table->gather_step())
///
/// The batches' fields are those of the source's own pipeline, byte for byte, padding included. On
/// the CPU the table lies in huge-page memory and the same step gathers there. Copies share the
/// table. Thread-safe but for load().
class HEADRACE_API DeviceTable final : public Source {
 public:
  class GatherStep;

  /// Checks and lays out; reads nothing. Throws ConfigError for fields that are not of fixed size
  /// and for a name that comes twice, DeviceError when the device cannot be used.
  explicit DeviceTable(std::shared_ptr<const Source> source, DeviceTableOptions options = {});

  /// Reads all records, in several threads, before any loader starts; to a device in pieces of a
  /// few MiB. Throws ResourceError with the bytes before the first read when they are more than
  /// allowed or free, DataError naming a record that cannot be read. Once is enough.
  void load();
  bool loaded() const noexcept;
  /// Bytes of the table on its device.
  std::size_t bytes() const noexcept;
  /// Host memory that load() takes: on the CPU for the table, else for a while, to fill it.
  std::size_t host_bytes() const noexcept;
  /// The batch operation that makes the fields.
  GatherStep gather_step() const;

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  void read(std::int64_t index, Sample& sample) const override;
  bool gathers() const override { return true; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;
  std::size_t resident_bytes() const override;
  std::string origin(std::int64_t index) const override;
  std::int64_t part(std::int64_t index) const override;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

/// Makes a batch's fields out of its row numbers, where the batch is: one kernel on the
/// stream of the batch's operations, never synchronised. Rows that hold no sample (see Tail::pad)
/// are zero.
class HEADRACE_API DeviceTable::GatherStep {
 public:
  std::string name() const { return "gather"; }
  /// Throws ConfigError when the samples are no row numbers.
  Schema schema(const Schema& in) const;
  /// Throws PipelineError for a table that is not loaded or lies elsewhere than the batch, and on
  /// the CPU for a row number outside the table (on a device such a row is zero); DeviceError where
  /// the kernel cannot be started.
  void operator()(Batch& batch, Stream stream) const;

 private:
  friend class DeviceTable;
  explicit GatherStep(std::shared_ptr<const Core> core) : core_(std::move(core)) {}

  std::shared_ptr<const Core> core_;
};

}  // namespace headrace::inline v1
