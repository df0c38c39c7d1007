#include <headrace/engine/headrace.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/hdf5_matrix.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

constexpr std::int64_t numbered_rows = 3000, numbered_chunk = 32, numbered_window = 8;

/// Row i begins with the number i.
std::shared_ptr<const Hdf5Table> numbered(const TemporaryFolder& folder, std::size_t memory) {
  const auto path = folder / ("numbered" + std::to_string(memory) + ".h5");
  std::vector<std::int32_t> values(numbered_rows * 5);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int32_t>(i % 5 == 0 ? i / 5 : 7 * i);
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC),
        {"x", H5::PredType::STD_I32BE, {numbered_rows, 5}, {numbered_chunk, 5}, 3}, values.data(),
        H5::PredType::NATIVE_INT32);
  return std::make_shared<const Hdf5Table>(Hdf5TableOptions{
      .file = path, .fields = {{.dataset = "x"}}, .memory = memory, .residence = Residence::pread});
}

struct Run {
  int threads = 2;
  std::uint64_t seed = 5;
  Ranks ranks{};
  std::int64_t batch = 96;
};

Loader loader_of(const std::shared_ptr<const Hdf5Table>& table, const Run& run) {
  LoaderOptions options;
  options.runtime = Runtime({.threads = run.threads, .io_threads = run.threads});
  return Pipeline::from(table)
      .order(ShuffledByChunk{
          .seed = run.seed, .chunk = table->chunk_rows(), .window = numbered_window})
      .ranks(run.ranks)
      .batch({.size = run.batch, .tail = Tail::drop})
      .build(options);
}

/// All bytes of two epochs.
std::string bytes_of(const std::shared_ptr<const Hdf5Table>& table, const Run& run) {
  Loader loader = loader_of(table, run);
  std::string bytes;
  for (const std::int64_t epoch : {0, 1})
    for (Batch& batch : loader.epoch(epoch))
      bytes.append(static_cast<const char*>(batch["x"].raw()), batch["x"].bytes());
  return bytes;
}

std::vector<std::int32_t> numbers_of(Batch& batch) {
  std::vector<std::int32_t> numbers;
  const auto values = batch["x"].values<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); i += 5)
    numbers.push_back(values[i]);
  return numbers;
}

}  // namespace

TEST_CASE("the same bytes for 1, 2 and 8 threads and any cache, others for another seed") {
  const TemporaryFolder folder;
  const auto table = numbered(folder, 4000);
  const std::string expected = bytes_of(table, {.threads = 1});
  CHECK(bytes_of(table, {.threads = 2}) == expected);
  CHECK(bytes_of(table, {.threads = 8}) == expected);
  CHECK(bytes_of(numbered(folder, 1_MiB), {.threads = 8}) == expected);
  CHECK(bytes_of(table, {.threads = 2, .seed = 6}) != expected);
}

TEST_CASE("ranks share the batches of one, by place") {
  const TemporaryFolder folder;
  const auto table = numbered(folder, 4000);
  Loader whole = loader_of(table, {});
  Loader first = loader_of(table, {.ranks = {.rank = 0, .world = 2}});
  Loader second = loader_of(table, {.ranks = {.rank = 1, .world = 2}});
  auto left = first.epoch(0);
  auto right = second.epoch(0);
  auto a = left.begin(), b = right.begin();
  for (Batch& batch : whole.epoch(0)) {
    std::vector<std::int32_t> both = numbers_of(*a), rest = numbers_of(*b);
    both.insert(both.end(), rest.begin(), rest.end());
    CHECK(both == numbers_of(batch));
    ++a;
    ++b;
  }
}

TEST_CASE("a run goes on in the middle of a window") {
  const TemporaryFolder folder;
  const auto table = numbered(folder, 4000);
  Loader loader = loader_of(table, {});
  std::vector<std::vector<std::int32_t>> all;
  Position position;
  for (Batch& batch : loader.epoch(0)) {
    all.push_back(numbers_of(batch));
    if (all.size() == 2) position = batch.position_after();
  }
  Loader again = loader_of(table, {.threads = 8});
  again.seek(position);
  std::size_t at = 2;
  for (Batch& batch : again.epoch(0))
    CHECK(numbers_of(batch) == all.at(at++));
  CHECK(at == all.size());
}

TEST_CASE("the rows of a window come from its chunks alone") {
  const auto order =
      ShuffledByChunk{.seed = 5, .chunk = numbered_chunk, .window = numbered_window}.bind(
          numbered_chunk * 96);
  std::vector<std::int64_t> indices(numbered_window * numbered_chunk);
  for (std::int64_t first = 0; first < numbered_chunk * 96;
       first += numbered_window * numbered_chunk) {
    std::set<std::int64_t> chunks;
    order->indices(0, first, indices);
    for (const std::int64_t index : indices)
      chunks.insert(index / numbered_chunk);
    CHECK(chunks.size() == numbered_window);
  }
}

TEST_CASE("the share of pairs in a window that are neighbours in storage is what is stated") {
  // Two rows of a window come from one chunk with probability (chunk - 1) / (window * chunk - 1).
  const auto order =
      ShuffledByChunk{.seed = 5, .chunk = numbered_chunk, .window = numbered_window}.bind(
          numbered_chunk * 96);
  std::vector<std::int64_t> indices(numbered_window * numbered_chunk);
  double same = 0, pairs = 0;
  for (std::int64_t epoch = 0; epoch < 40; ++epoch) {
    for (std::int64_t first = 0; first < numbered_chunk * 96;
         first += numbered_window * numbered_chunk) {
      order->indices(epoch, first, indices);
      for (std::size_t k = 1; k < indices.size(); ++k) {
        same += indices[k] / numbered_chunk == indices[k - 1] / numbered_chunk ? 1 : 0;
        ++pairs;
      }
    }
  }
  const double stated = (numbered_chunk - 1.0) / (numbered_window * numbered_chunk - 1.0);
  CHECK(same / pairs == doctest::Approx(stated).epsilon(0.02));
}

}  // namespace headrace::test
