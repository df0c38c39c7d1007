#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/dataset/describe_parts.h>
#include <headrace/loaders/hdf5/detail/helper/helper_library.h>
#include <headrace/loaders/hdf5/detail/helper/helper_process.h>
#include <headrace/loaders/hdf5/detail/helper/helper_reader.h>
#include <headrace/loaders/hdf5/detail/helper/shared_window.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <libdeflate.h>

namespace headrace::inline v1::detail {
namespace {

using std::chrono::milliseconds;

class EndedFromOutside : public ResourceError {
 public:
  using ResourceError::ResourceError;
};

/// What the helper was told and a new one must be.
struct Described {
  DatasetRequest request;
  std::uint32_t sum;  ///< of its answer
};

/// The helper at work, for one thread at a time.
struct Running {
  std::mutex mutex;
  SharedWindow window;
  std::optional<HelperProcess> process;
  std::set<std::size_t> open;  // datasets, by HelperDataset::number
  int deaths_by_patience = 0;  // one after the other
};

class HelperLibrary final : public LibraryAccess, private HelperRows {
 public:
  HelperLibrary(std::shared_ptr<const DataFile> file, const HelperOptions& options)
      : file_(std::move(file)), options_(options) {
    const std::lock_guard lock(running_->mutex);
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
    const auto answer = ask(
        {.kind = HelperCall::save_indexes, .doing = "kept its index", .memory = most_index_bytes_},
        {});
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

  void read(const HelperQuestion& call, const WireWriter& message, std::size_t bytes,
            const std::function<void(const std::byte*)>& use) override {
    {
      const std::lock_guard lock(running_->mutex);
      running_->window.grow(bytes);
      ask_locked(call, message);
      use(running_->window.map(running_->window.bytes()));
    }
    file_->require_unchanged();
  }
  void close_reader(std::size_t number) noexcept override;

 private:
  static std::vector<std::string> texts_of(const std::vector<std::byte>& answer) {
    return WireReader(answer).texts();
  }
  std::vector<std::byte> ask(const HelperQuestion& call, const WireWriter& message) {
    const std::lock_guard lock(running_->mutex);
    return ask_locked(call, message);
  }
  std::vector<std::byte> ask_locked(const HelperQuestion& call, const WireWriter& message);
  std::vector<std::byte> ask_running(const HelperQuestion& call, const WireWriter& message);
  std::vector<std::byte> describe_there(const DatasetRequest& request);
  void describe_again(const Described& before);
  void require_open(const HelperDataset& wanted);
  void require_process();
  void start();
  HelperLimits limits_of(const HelperQuestion& call) const;

  std::shared_ptr<const DataFile> file_;
  HelperOptions options_;
  PerProcess<Running> running_;
  // What it was told no longer changes once threads, or processes, share it.
  std::vector<Described> described_;  // by number
  std::size_t most_index_bytes_ = 0;
  std::atomic<std::size_t> next_number_ = 0;
};

/// An honest file of any size passes with a wide margin: an index takes a microsecond a chunk, a
/// row of a virtual dataset of many sources ten milliseconds.
HelperLimits HelperLibrary::limits_of(const HelperQuestion& call) const {
  constexpr milliseconds least{4000}, most{120'000}, of_row{10};
  constexpr std::size_t any_call = std::size_t{128} << 20;
  const milliseconds of_file{file_->size() / work_bytes_per_ms};
  return {.cpu = std::min(least + of_file, most) + milliseconds(call.work / work_bytes_per_ms) +
                 static_cast<int>(call.rows) * of_row,
          .memory = any_call + call.memory,
          .answer = call.answer};
}

std::vector<std::byte> HelperLibrary::ask_running(const HelperQuestion& call,
                                                  const WireWriter& message) {
  const HelperLimits limits = limits_of(call);
  const std::string file = printable(file_->path().native());
  try {
    auto answer = running_->process->ask(call.kind, message.message, limits);
    running_->deaths_by_patience = 0;
    return answer;
  } catch (const HelperEnded& ended) {
    running_->process.reset();
    const bool by_patience = ended.cause() == HelperEnded::Cause::patience;
    running_->deaths_by_patience = by_patience ? running_->deaths_by_patience + 1 : 0;
    const std::string what = "[hdf5] " + file + ": the helper of the HDF5 library " + ended.what() +
                             " while it " + call.doing;
    if (ended.cause() == HelperEnded::Cause::outside)
      throw EndedFromOutside(what + ", perhaps for lack of memory on the machine; give it more");
    throw DataError(what + "; the file is damaged or hostile, copy it again");
  } catch (const ResourceError& error) {
    throw ResourceError(error.what() + (" (the helper of the HDF5 library may take " +
                                        std::to_string(limits.memory >> 20) +
                                        " MiB more for this of " + file + ")"));
  }
}

/// One that was ended from outside, perhaps before it was asked, is followed by another, once.
std::vector<std::byte> HelperLibrary::ask_locked(const HelperQuestion& call,
                                                 const WireWriter& message) {
  for (bool again = true;; again = false) {
    require_process();
    try {
      if (call.of != nullptr) require_open(*call.of);
      return ask_running(call, message);
    } catch (const EndedFromOutside&) {
      if (!again) throw;
    }
  }
}

/// One that ended while nobody asked is no fault of what is asked now.
void HelperLibrary::require_process() {
  constexpr int most_deaths = 3;
  if (running_->deaths_by_patience >= most_deaths) {
    throw DataError("[hdf5] " + printable(file_->path().native()) +
                    ": the HDF5 library did not return from it " + std::to_string(most_deaths) +
                    " times, one after the other; it is not asked again");
  }
  if (running_->process && !running_->process->alive()) running_->process.reset();
  if (!running_->process) start();
}

/// Also after a helper has ended, and in a forked process: the new one is told what the old one
/// was.
void HelperLibrary::start() {
  file_->require_unchanged();
  running_->open.clear();
  running_->process.emplace(file_->descriptor(), running_->window.descriptor());
  try {
    WireWriter message;
    message.text(file_->path().native());
    message.value(file_->named());
    message.value(file_->opened());
    message.text(options_.stage.native());
    message.value(options_.keep_index);
    ask_running({.kind = HelperCall::open, .doing = "opened it", .answer = 0}, message);
    for (const Described& before : described_)
      describe_again(before);
  } catch (...) {
    running_->process.reset();
    throw;
  }
}

std::vector<std::byte> HelperLibrary::describe_there(const DatasetRequest& request) {
  constexpr std::size_t bytes_a_chunk = 96;  // its place, on its way, and the library's own
  const std::size_t chunks = most_indexed_chunks(request.memory, file_->size());
  most_index_bytes_ = std::max(most_index_bytes_, bytes_a_chunk * chunks);
  WireWriter message;
  put(message, request);
  return ask_running({.kind = HelperCall::describe,
                      .doing = "checked a dataset",
                      .memory = bytes_a_chunk * chunks,
                      .answer = (std::size_t{1} << 20) + sizeof(ChunkPlace) * chunks},
                     message);
}

void HelperLibrary::describe_again(const Described& before) {
  const std::vector<std::byte> answer = describe_there(before.request);
  if (libdeflate_crc32(0, answer.data(), answer.size()) == before.sum) return;
  throw PipelineError(
      "[hdf5] " + printable(file_->path().native()) +
      ": it or a file that it takes data from was changed after it was opened; leave "
      "data files alone while they are read, or open them again");
}

Hdf5Dataset HelperLibrary::describe(const DatasetRequest& request) {
  const std::lock_guard lock(running_->mutex);
  require_process();
  const std::vector<std::byte> answer = describe_there(request);
  WireReader reader(answer);
  Hdf5Dataset dataset = take_dataset(reader, request, file_->size());
  dataset.number = described_.size();
  described_.push_back({request, libdeflate_crc32(0, answer.data(), answer.size())});
  return dataset;
}

void HelperLibrary::require_open(const HelperDataset& wanted) {
  if (running_->open.contains(wanted.number)) return;
  WireWriter message;
  message.value(std::uint64_t{wanted.number});
  message.value(std::uint64_t{wanted.dataset});
  message.value(std::uint64_t{wanted.cache_bytes});
  ask_running({.kind = HelperCall::open_reader, .doing = "opened a dataset", .answer = 0}, message);
  running_->open.insert(wanted.number);
}

std::unique_ptr<LibraryReader> HelperLibrary::reader(const Hdf5Dataset& dataset,
                                                     std::size_t cache_bytes) {
  const HelperDataset opened{next_number_++, dataset.number, cache_bytes};
  const std::lock_guard lock(running_->mutex);
  require_process();
  require_open(opened);
  return helper_reader(*this, opened, dataset);
}

void HelperLibrary::close_reader(std::size_t number) noexcept {
  Running& running = *running_;
  const std::lock_guard lock(running.mutex);
  if (running.open.erase(number) > 0 && running.process) {
    try {
      WireWriter message;
      message.value(std::uint64_t{number});
      ask_running({.kind = HelperCall::close_reader, .doing = "closed a dataset", .answer = 0},
                  message);
    } catch (const std::exception&) {
      running.process.reset();  // the next call begins anew
    }
  }
  if (running.open.empty()) running.window.release();
}

}  // namespace

std::shared_ptr<LibraryAccess> helper_library(std::shared_ptr<const DataFile> file,
                                              const HelperOptions& options) {
  return std::make_shared<HelperLibrary>(std::move(file), options);
}

}  // namespace headrace::inline v1::detail
