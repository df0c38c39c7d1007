#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/describe_parts.h>
#include <headrace/loaders/hdf5/detail/helper_library.h>
#include <headrace/loaders/hdf5/detail/helper_process.h>
#include <headrace/loaders/hdf5/detail/shared_window.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

using std::chrono::milliseconds;

/// What a call is about, for its limits and for what is said when the helper ends at it.
struct Call {
  HelperCall kind;
  const char* doing;
  std::size_t work = 0;    ///< bytes that it reads and decodes
  std::size_t memory = 0;  ///< bytes that it holds beside what any call does
};

/// What the helper was told and a new one must be.
struct OpenReader {
  std::size_t dataset;
  std::size_t cache_bytes;
};

class HelperLibrary final : public LibraryAccess {
 public:
  HelperLibrary(std::shared_ptr<const DataFile> file, const HelperOptions& options)
      : file_(std::move(file)), options_(options) {
    const std::lock_guard lock(mutex_);
    start();
  }

  std::vector<std::string> datasets_in(const std::string& path) override {
    WireWriter message;
    message.text(path);
    return texts_of(ask({HelperCall::datasets_in, "looked for a dataset"}, message));
  }
  std::vector<std::string> all_datasets() override {
    return texts_of(ask({HelperCall::all_datasets, "listed its datasets"}, {}));
  }
  Hdf5Dataset describe(const DatasetRequest& request) override;
  std::string save_indexes() override {
    const auto answer = ask({HelperCall::save_indexes, "kept its index"}, {});
    return WireReader(answer).text();
  }
  std::vector<Hdf5Attribute> attributes(const AttributeRequest& request) override {
    WireWriter message;
    message.texts(request.names);
    message.texts(request.objects);
    const auto answer = ask({HelperCall::attributes, "read its attributes"}, message);
    WireReader reader(answer);
    return take_attributes(reader);
  }
  std::unique_ptr<LibraryReader> reader(const Hdf5Dataset& dataset,
                                        std::size_t cache_bytes) override;

  /// Of a reader: `use` gets the rows that it read, `bytes` of them.
  template <class Use>
  void read(const Call& call, const WireWriter& message, std::size_t bytes, Use use) {
    const std::lock_guard lock(mutex_);
    window_.grow(bytes);
    ask_locked(call, message);
    use(window_.map(window_.bytes()));
  }
  void close_reader(std::size_t number) noexcept;

 private:
  static std::vector<std::string> texts_of(const std::vector<std::byte>& answer) {
    return WireReader(answer).texts();
  }
  std::vector<std::byte> ask(const Call& call, const WireWriter& message) {
    const std::lock_guard lock(mutex_);
    return ask_locked(call, message);
  }
  std::vector<std::byte> ask_locked(const Call& call, const WireWriter& message);
  std::vector<std::byte> ask_running(const Call& call, const WireWriter& message);
  std::vector<std::byte> describe_there(const DatasetRequest& request);
  void open_reader_there(std::size_t number, const OpenReader& reader);
  void start();
  HelperLimits limits_of(const Call& call) const;

  std::shared_ptr<const DataFile> file_;
  HelperOptions options_;
  std::mutex mutex_;
  SharedWindow window_;
  std::optional<HelperProcess> process_;
  std::vector<DatasetRequest> described_;  ///< by number
  std::map<std::size_t, OpenReader> readers_;
  std::size_t next_reader_ = 0;
};

class HelperReader final : public LibraryReader {
 public:
  HelperReader(HelperLibrary& library, std::size_t number, const Hdf5Dataset& dataset,
               std::size_t cache_bytes)
      : library_(library), number_(number), dataset_(dataset), held_bytes_(cache_bytes) {
    held_bytes_ += 4 * dataset.chunk_bytes;
  }
  ~HelperReader() override { library_.close_reader(number_); }

  void read(std::span<const SortedRow> rows) override {
    // Small enough that a row that never comes is soon known for one.
    const std::size_t row_work = dataset_.row_bytes + dataset_.chunk_bytes;
    const std::size_t at_once = std::max<std::size_t>(most_work / row_work, 1);
    for (std::size_t first = 0; first < rows.size(); first += at_once)
      read_some(rows.subspan(first, std::min(at_once, rows.size() - first)));
  }

  void read_places(std::int64_t first, std::int64_t count, std::byte* to) override {
    const auto rows = static_cast<std::size_t>(count * dataset_.inner_rows());
    const std::size_t bytes = rows * dataset_.row_bytes;
    if (bytes > most_work && rows > static_cast<std::size_t>(count))
      return read_as_rows(first * dataset_.inner_rows(), rows, to);
    WireWriter message;
    message.value(std::uint64_t{number_});
    message.value(first);
    message.value(count);
    library_.read(call(HelperCall::read_places, bytes + dataset_.chunk_bytes), message, bytes,
                  [&](const std::byte* from) { std::memcpy(to, from, bytes); });
  }

 private:
  static constexpr std::size_t most_work = std::size_t{32} << 20;

  Call call(HelperCall kind, std::size_t work) const {
    return {.kind = kind, .doing = "read rows", .work = work, .memory = held_bytes_ + work};
  }

  void read_some(std::span<const SortedRow> rows) {
    WireWriter message;
    message.value(std::uint64_t{number_});
    std::vector<std::int64_t> indices;
    for (const SortedRow& row : rows)
      indices.push_back(row.index);
    message.list(indices);
    const std::size_t work = rows.size() * (dataset_.row_bytes + dataset_.chunk_bytes);
    library_.read(call(HelperCall::read_rows, work), message, rows.size() * dataset_.row_bytes,
                  [&](const std::byte* from) {
                    for (const SortedRow& row : rows) {
                      std::memcpy(row.to, from, dataset_.row_bytes);
                      from += dataset_.row_bytes;
                    }
                  });
  }

  /// A place of the first axis that is too large to be handed over at once.
  void read_as_rows(std::int64_t first, std::size_t count, std::byte* to) {
    std::vector<SortedRow> rows(count);
    for (std::size_t i = 0; i < count; ++i)
      rows[i] = {first + static_cast<std::int64_t>(i), to + i * dataset_.row_bytes};
    read(rows);
  }

  HelperLibrary& library_;
  std::size_t number_;
  Hdf5Dataset dataset_;
  std::size_t held_bytes_;
};

/// An honest file of any size passes with a wide margin: an index takes a microsecond a chunk, and
/// the slowest filter decodes more than 10 MB/s.
HelperLimits HelperLibrary::limits_of(const Call& call) const {
  constexpr std::uint64_t bytes_per_ms = 10'000;
  constexpr milliseconds least{4000}, most{120'000};
  constexpr std::size_t any_call = std::size_t{128} << 20;
  const milliseconds of_file{file_->size() / bytes_per_ms};
  return {.cpu = std::min(least + of_file, most) + milliseconds(call.work / bytes_per_ms),
          .memory = any_call + call.memory};
}

std::vector<std::byte> HelperLibrary::ask_running(const Call& call, const WireWriter& message) {
  const HelperLimits limits = limits_of(call);
  const std::string who = "[hdf5] " + printable(file_->path().native()) + ": ";
  try {
    return process_->ask(call.kind, message.message, limits);
  } catch (const HelperEnded& ended) {
    process_.reset();
    throw DataError(who + "the helper of the HDF5 library " + ended.what() + " while it " +
                    call.doing + "; the file is damaged or hostile, copy it again");
  } catch (const ResourceError& error) {
    throw ResourceError(error.what() + (" (the helper of the HDF5 library may take " +
                                        std::to_string(limits.memory >> 20) + " MiB for " +
                                        printable(file_->path().native()) + ")"));
  }
}

std::vector<std::byte> HelperLibrary::ask_locked(const Call& call, const WireWriter& message) {
  if (!process_) start();
  return ask_running(call, message);
}

/// Also after a helper has ended: the new one is told what the old one was.
void HelperLibrary::start() {
  process_.emplace(file_->descriptor(), window_.descriptor());
  try {
    WireWriter message;
    message.text(file_->path().native());
    message.value(file_->named());
    message.text(options_.stage.native());
    message.value(options_.keep_index);
    ask_running({HelperCall::open, "opened it"}, message);
    for (const DatasetRequest& request : described_)
      describe_there(request);
    for (const auto& [number, reader] : readers_)
      open_reader_there(number, reader);
  } catch (...) {
    process_.reset();
    throw;
  }
}

std::vector<std::byte> HelperLibrary::describe_there(const DatasetRequest& request) {
  constexpr std::size_t bytes_a_chunk = 64;  // its place, on its way, and the library's own
  WireWriter message;
  put(message, request);
  return ask_running({.kind = HelperCall::describe,
                      .doing = "checked a dataset",
                      .memory = bytes_a_chunk * most_indexed_chunks(request.memory, file_->size())},
                     message);
}

Hdf5Dataset HelperLibrary::describe(const DatasetRequest& request) {
  const std::lock_guard lock(mutex_);
  if (!process_) start();
  const std::vector<std::byte> answer = describe_there(request);
  WireReader reader(answer);
  Hdf5Dataset dataset = take_dataset(reader, file_->size());
  dataset.number = described_.size();
  described_.push_back(request);
  return dataset;
}

void HelperLibrary::open_reader_there(std::size_t number, const OpenReader& reader) {
  WireWriter message;
  message.value(std::uint64_t{number});
  message.value(std::uint64_t{reader.dataset});
  message.value(std::uint64_t{reader.cache_bytes});
  ask_running({HelperCall::open_reader, "opened a dataset"}, message);
}

std::unique_ptr<LibraryReader> HelperLibrary::reader(const Hdf5Dataset& dataset,
                                                     std::size_t cache_bytes) {
  const std::lock_guard lock(mutex_);
  if (!process_) start();
  const std::size_t number = next_reader_++;
  const OpenReader opened{dataset.number, cache_bytes};
  open_reader_there(number, opened);
  auto reader = std::make_unique<HelperReader>(*this, number, dataset, cache_bytes);
  readers_.emplace(number, opened);
  return reader;
}

void HelperLibrary::close_reader(std::size_t number) noexcept {
  const std::lock_guard lock(mutex_);
  readers_.erase(number);
  if (!process_) return;
  try {
    WireWriter message;
    message.value(std::uint64_t{number});
    ask_running({HelperCall::close_reader, "closed a dataset"}, message);
  } catch (const std::exception&) {
    process_.reset();  // the next call begins anew
  }
}

}  // namespace

std::shared_ptr<LibraryAccess> helper_library(std::shared_ptr<const DataFile> file,
                                              const HelperOptions& options) {
  return std::make_shared<HelperLibrary>(std::move(file), options);
}

}  // namespace headrace::inline v1::detail
