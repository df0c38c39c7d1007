#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace headrace::inline v1 {

/// Rows of a slab that a source fills many at once: for every field of Source::fields(), in that
/// order, `count` rows.
class HEADRACE_API Rows {
 public:
  /// Where the rows of one field lie.
  struct Column {
    std::byte* first = nullptr;  ///< row 0
    std::size_t stride = 0;      ///< bytes from one row to the next
  };

  Rows(std::span<const Column> columns, std::int64_t count) noexcept
      : columns_(columns), count_(count) {}
  std::int64_t count() const noexcept { return count_; }
  std::size_t fields() const noexcept { return columns_.size(); }
  const Column& operator[](std::size_t field) const noexcept { return columns_[field]; }
  /// Row `k` of a field.
  std::byte* row(std::size_t field, std::int64_t k) const noexcept {
    return columns_[field].first + static_cast<std::size_t>(k) * columns_[field].stride;
  }

 private:
  std::span<const Column> columns_;
  std::int64_t count_;
};

/// Records by index. Const and thread-safe: many workers read at once. A source opens and checks
/// everything it can when it is constructed (ConfigError, DataError there), so that no surprise
/// comes later.
class HEADRACE_API Source {
 public:
  virtual ~Source() = default;

  /// Short name for messages and graphs: "image folder data/train".
  virtual std::string name() const = 0;
  /// Records.
  virtual std::int64_t size() const = 0;
  /// What read() fills, with the largest shapes.
  virtual Schema fields() const = 0;
  /// Fills the sample's fields. Throws DataError with rule and what came; the engine adds stage and
  /// origin.
  virtual void read(std::int64_t index, Sample& sample) const = 0;
  /// read(), if that needs no waiting (the file's pages are in memory). False where it might wait
  /// or fails; what the sample then holds does not matter: read() is called on an I/O thread. Asked
  /// only of blocking sources; it saves them the way from one thread to another.
  virtual bool read_now(std::int64_t, Sample&) const { return false; }

  /// Whether read() and gather() may wait for a disk or network: then they run on the runtime's I/O
  /// threads.
  virtual bool blocking() const { return false; }
  /// Whether gather() is offered: all fields fixed, many rows a call.
  virtual bool gathers() const { return false; }
  /// Fills `indices.size()` rows. Called only where gathers() is true.
  virtual void gather(std::span<const std::int64_t> indices, const Rows& rows) const;
  /// Rows that a blocking gather likes to get in one call (0: the engine's choice).
  virtual std::int64_t preferred_rows() const { return 0; }

  /// Bytes that the sample needs between read and collate, decoder's working memory included; asked
  /// before reading.
  virtual std::size_t working_bytes(std::int64_t index) const;
  /// The largest working_bytes() of all records: for the forecast.
  virtual std::size_t largest_working_bytes() const;
  /// Memory that the source itself holds (tables in RAM, listings).
  virtual std::size_t resident_bytes() const { return 0; }
  /// File and place of a record, for messages: "cat/0192.jpg".
  virtual std::string origin(std::int64_t index) const;
  /// Which sample of its record an index stands for (see Expanded).
  virtual std::int64_t part(std::int64_t) const { return 0; }
};

}  // namespace headrace::inline v1
