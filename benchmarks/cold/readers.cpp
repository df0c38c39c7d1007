#include <headrace/benchmarks/cold/readers.h>
#include <headrace/benchmarks/loader/bare.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <mutex>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace headrace::inline v1::bench {

namespace {

void read_at(int file, std::byte* to, std::size_t bytes, std::size_t offset) {
  if (::pread(file, to, bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes))
    throw DataError("[benchmark] a bare reader got fewer bytes than the file has");
}

void read_whole(const Files& files, std::int64_t index, std::vector<std::byte>& to) {
  const auto i = static_cast<std::size_t>(index);
  to.resize(files.bytes[i]);
  const int file = ::open(files.paths[i].c_str(), O_RDONLY | O_CLOEXEC);
  read_at(file, to.data(), to.size(), 0);
  ::close(file);
}

/// A file's bytes on their way from a reader to a decoder.
struct Parcel {
  std::int64_t place = 0;
  std::vector<std::byte> bytes;
};

/// A queue that waits; take() returns null when it is closed and empty.
class Channel {
 public:
  void give(Parcel* parcel) {
    {
      std::lock_guard lock(mutex_);
      parcels_.push_back(parcel);
    }
    changed_.notify_one();
  }
  Parcel* take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !parcels_.empty(); });
    if (parcels_.empty()) return nullptr;
    Parcel* parcel = parcels_.front();
    parcels_.pop_front();
    return parcel;
  }
  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Parcel*> parcels_;
  bool closed_ = false;
};

std::int64_t index_at(const IndexStream& order, std::int64_t epoch, std::int64_t place) {
  std::int64_t index = 0;
  order.indices(epoch, place, std::span(&index, 1));
  return index;
}

/// What one epoch of readers and decoders shares.
struct Decoding {
  Decoding(const Files& from, const IndexStream& in, const Ring& into, std::int64_t number)
      : files(from), order(in), slabs(into), epoch(number) {}

  void read() {
    for (;;) {
      Parcel* parcel = empty.take();
      parcel->place = next.fetch_add(1);
      if (parcel->place >= order.length()) return empty.give(parcel);
      read_whole(files, index_at(order, epoch, parcel->place), parcel->bytes);
      full.give(parcel);
    }
  }
  void decode() {
    constexpr std::int64_t batch = 64;
    const DecodeImage operation = decode_224();
    Sample sample;
    while (Parcel* parcel = full.take()) {
      slabs.bind(sample, parcel->place / batch, parcel->place % batch);
      const Shape shape{static_cast<std::int64_t>(parcel->bytes.size())};
      sample.set("image", Tensor::borrow(parcel->bytes.data(), DType::uint8, shape));
      Random random({.seed = order_seed, .epoch = epoch, .position = parcel->place});
      operation(sample, random);
      empty.give(parcel);
    }
  }

  const Files& files;
  const IndexStream& order;
  const Ring& slabs;
  std::int64_t epoch;
  std::atomic<std::int64_t> next{0};
  Channel empty;
  Channel full;
};

/// Where the table's first row lies in its file: the rows of these tables are random bytes, so
/// they are found by looking.
std::size_t first_row_offset(const std::filesystem::path& file, const Hdf5Table& table) {
  Sample sample;
  table.read(0, sample);
  const Tensor& row = sample["row"];
  std::ifstream in(file, std::ios::binary);
  std::string head(std::size_t{1} << 20, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  const std::size_t at =
      head.find(std::string_view(static_cast<const char*>(row.raw()), row.bytes()));
  if (at == std::string::npos) throw DataError("[benchmark] rows not found in " + file.string());
  return at;
}

}  // namespace

Files::Files(const ImageFolder& folder, const std::filesystem::path& root) {
  for (std::int64_t i = 0; i < folder.size(); ++i) {
    paths.push_back(root / folder.origin(i));
    bytes.push_back(std::filesystem::file_size(paths.back()));
  }
}

double Files::megabytes() const {
  return 1e-6 * static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}));
}

std::function<double()> bare_files(std::shared_ptr<const Files> files,
                                   std::shared_ptr<const IndexStream> order, int depth) {
  auto epoch = std::make_shared<std::int64_t>(0);
  return [=] {
    std::atomic<std::int64_t> next{0};
    in_threads(depth, [&](int) {
      std::vector<std::byte> buffer;
      for (;;) {
        const std::int64_t place = next.fetch_add(1, std::memory_order_relaxed);
        if (place >= order->length()) return;
        read_whole(*files, index_at(*order, *epoch, place), buffer);
      }
    });
    ++*epoch;
    return files->megabytes();
  };
}

std::function<double()> bare_decoded(std::shared_ptr<const Files> files,
                                     std::shared_ptr<const IndexStream> order, int depth) {
  auto epoch = std::make_shared<std::int64_t>(0);
  const Schema schema{FieldSpec::fixed("image", DType::uint8, Shape{224, 224, 3})};
  auto slabs = std::make_shared<Ring>(schema, 64, ring);
  auto parcels =
      std::make_shared<std::vector<Parcel>>(static_cast<std::size_t>(depth + 2 * threads));
  return [=] {
    Decoding decoding(*files, *order, *slabs, *epoch);
    for (Parcel& parcel : *parcels)
      decoding.empty.give(&parcel);
    std::atomic<int> reading{depth};
    in_threads(depth + threads, [&](int thread) {
      if (thread >= depth) return decoding.decode();
      decoding.read();
      if (reading.fetch_sub(1) == 1) decoding.full.close();
    });
    ++*epoch;
    return static_cast<double>(order->length());
  };
}

std::function<double()> bare_file_rows(const std::filesystem::path& file, const Hdf5Table& table,
                                       std::shared_ptr<const IndexStream> order, int depth) {
  constexpr std::int64_t batch = 1024;
  constexpr std::int64_t block = 64;
  const std::size_t offset = first_row_offset(file, table);
  auto slabs = std::make_shared<Ring>(table.fields(), batch, ring);
  const std::size_t bytes = slabs->layout.columns()[0].row_bytes;
  auto epoch = std::make_shared<std::int64_t>(0);
  return [=] {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    std::atomic<std::int64_t> next{0};
    in_threads(depth, [&](int) {
      std::vector<std::int64_t> indices;
      for (;;) {
        const std::int64_t first = next.fetch_add(block, std::memory_order_relaxed);
        if (first >= order->length()) return;
        indices.resize(static_cast<std::size_t>(std::min(block, order->length() - first)));
        order->indices(*epoch, first, indices);
        std::sort(indices.begin(), indices.end());
        std::byte* to = slabs->layout.cell(slabs->slab(first / batch), 0, first % batch);
        for (const std::int64_t index : indices) {
          read_at(descriptor, to, bytes, offset + static_cast<std::size_t>(index) * bytes);
          to += bytes;
        }
      }
    });
    ::close(descriptor);
    ++*epoch;
    return 1e-6 * static_cast<double>(order->length()) * static_cast<double>(bytes);
  };
}

}  // namespace headrace::inline v1::bench
