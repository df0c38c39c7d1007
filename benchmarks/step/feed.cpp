#include <headrace/benchmarks/loader/workload.h>
#include <headrace/benchmarks/step/feed.h>
#include <headrace/engine/torch/as_tensor.h>

#include <utility>

#include <torch/data.h>

namespace headrace::inline v1::bench {

namespace {

using Example = torch::data::Example<>;

/// Reads and decodes one file a call, as most data sets are written.
class Folder : public torch::data::Dataset<Folder> {
 public:
  explicit Folder(const FeedOptions& options) : options_(options) {}

  Example get(std::size_t place) override {
    static thread_local Sample sample;
    const auto position = static_cast<std::int64_t>(place);
    Example example{torch::empty({224, 224, 3}, torch::kUInt8), torch::empty({}, torch::kInt64)};
    sample.reset();
    sample.bind_row("image",
                    Tensor::borrow(example.data.data_ptr(), DType::uint8, Shape{224, 224, 3}));
    options_.source->read(position % options_.source->size(), sample);
    Random random({.seed = order_seed, .position = position});
    decode_(sample, random);
    example.target.fill_(sample["label"].item<std::int64_t>());
    return example;
  }
  std::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(options_.batch * options_.batches);
  }

 private:
  FeedOptions options_;
  DecodeImage decode_ = decode_224();
};

}  // namespace

Feed headrace_feed(const FeedOptions& options) {
  const Shuffled order{.seed = order_seed, .epoch_size = options.batch * options.batches};
  auto loader = std::make_shared<Loader>(
      Pipeline::from(options.source)
          .order(order)
          .then(decode_224())
          .batch({.size = options.batch})
          .to(options.device)
          .build({.join_epochs = false, .runtime = Runtime({.threads = options.threads})}));
  auto epoch = std::make_shared<Epoch>(loader->epoch(0));
  auto at = std::make_shared<std::optional<Epoch::Iterator>>();
  return [loader, epoch, at](Pictures& pictures) {
    pictures = {};  // the loan ends before the next batch is asked for
    if (*at) {
      ++**at;
    } else {
      *at = epoch->begin();
    }
    if (**at == epoch->end()) return false;
    const Batch batch = std::exchange(***at, Batch());
    pictures = {as_tensor(batch["image"]), as_tensor(batch["label"])};
    return true;
  };
}

Feed one_batch_feed(const FeedOptions& options) {
  auto batch = std::make_shared<Pictures>();
  headrace_feed(options)(*batch);
  return [batch, left = options.batches](Pictures& pictures) mutable {
    pictures = left > 0 ? *batch : Pictures{};
    return left-- > 0;
  };
}

Feed torch_data_feed(const FeedOptions& options) {
  auto set = Folder(options).map(torch::data::transforms::Stack<>());
  auto loader = std::shared_ptr(torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(set), torch::data::DataLoaderOptions(static_cast<std::size_t>(options.batch))
                          .workers(static_cast<std::size_t>(options.threads))));
  using At = decltype(loader->begin());
  auto at = std::make_shared<std::optional<At>>();
  return [loader, at](Pictures& pictures) {
    pictures = {};
    if (*at) {
      ++**at;
    } else {
      *at = loader->begin();
    }
    if (**at == loader->end()) return false;
    pictures = {(**at)->data, (**at)->target};
    return true;
  };
}

}  // namespace headrace::inline v1::bench
