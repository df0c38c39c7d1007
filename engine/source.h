#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <headrace/engine/export.h>
#include <headrace/engine/field.h>
#include <headrace/engine/sample.h>

namespace headrace::inline v1 {

/// Rows of a slab that a source fills many at once: for every field of Source::fields(), in that
/// order, `count` rows.
class HEADRACE_API Rows {
 public:
  struct Column {
    std::byte* first = nullptr;  ///< row 0
    std::size_t stride = 0;      ///< bytes from one row to the next
  };

  Rows(std::span<const Column> columns, std::int64_t count) noexcept
      : columns_(columns), count_(count) {}
  std::int64_t count() const noexcept { return count_; }
  std::size_t fields() const noexcept { return columns_.size(); }
  const Column& operator[](std::size_t field) const noexcept { return columns_[field]; }
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
  virtual std::int64_t size() const = 0;
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
