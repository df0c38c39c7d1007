#include <headrace/benchmarks/loader/workload.h>

#include <torch/data.h>

namespace headrace::inline v1::bench {

namespace {

using Example = torch::data::Example<>;

/// The resident rows as LibTorch tensors, without a copy.
Example whole(const Hdf5Table& source, std::int64_t bytes) {
  Sample first;
  source.read(0, first);
  const std::int64_t n = source.size();
  return {torch::from_blob(first["row"].raw(), {n, bytes}, torch::kUInt8),
          torch::from_blob(first["label"].raw(), {n}, torch::kInt64)};
}

/// One `get` a row, as most data sets are written.
class PerRow : public torch::data::Dataset<PerRow> {
 public:
  PerRow(Example all, std::int64_t rows) : all_(std::move(all)), rows_(rows) {}
  Example get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    return {all_.data[i], all_.target[i]};
  }
  std::optional<std::size_t> size() const override { return static_cast<std::size_t>(rows_); }

 private:
  Example all_;
  std::int64_t rows_;
};

/// One index_select a batch.
class Bulk : public torch::data::BatchDataset<Bulk, Example, std::vector<std::size_t>> {
 public:
  explicit Bulk(Example all) : all_(std::move(all)) {}
  Example get_batch(std::vector<std::size_t> indices) override {
    const auto rows = torch::from_blob(indices.data(), {static_cast<std::int64_t>(indices.size())},
                                       torch::kInt64);
    return {all_.data.index_select(0, rows), all_.target.index_select(0, rows)};
  }
  std::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(all_.target.size(0));
  }

 private:
  Example all_;
};

template <class Loader>
double drain(Loader& loader) {
  double rows = 0;
  for (Example& batch : *loader)
    rows += static_cast<double>(batch.target.size(0));
  return rows;
}

torch::data::DataLoaderOptions options(std::int64_t batch) {
  return torch::data::DataLoaderOptions(static_cast<std::size_t>(batch)).workers(threads);
}

}  // namespace

std::function<double()> torch_per_row(std::shared_ptr<const Hdf5Table> source, std::int64_t bytes,
                                      std::int64_t batch, std::int64_t rows) {
  auto set = PerRow(whole(*source, bytes), rows).map(torch::data::transforms::Stack<>());
  auto loader = std::shared_ptr(torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(set), options(batch)));
  return [source, loader] { return drain(loader); };
}

std::function<double()> torch_bulk(std::shared_ptr<const Hdf5Table> source, std::int64_t bytes,
                                   std::int64_t batch) {
  Bulk set(whole(*source, bytes));
  const auto size = *set.size();
  auto loader = std::shared_ptr(torch::data::make_data_loader(
      std::move(set), torch::data::samplers::RandomSampler(static_cast<std::int64_t>(size)),
      options(batch)));
  return [source, loader] { return drain(loader); };
}

}  // namespace headrace::inline v1::bench
