#pragma once

#include <headrace/engine/tensor/device.h>
#include <headrace/loaders/image/image_folder.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::bench {

/// What a training step takes: uint8 [rows, 224, 224, 3] and int64 [rows].
struct Pictures {
  at::Tensor images;
  at::Tensor labels;
};

/// Gives batches one after the other, false after the last one. What it holds dies with it.
using Feed = std::function<bool(Pictures&)>;

/// How many batches of what, and on how many threads.
struct FeedOptions {
  std::shared_ptr<const ImageFolder> source{};
  std::int64_t batch = 64;
  std::int64_t batches = 100;
  int threads = 2;
  Device device{};  ///< where Headrace delivers; torch::data knows host memory only
};

/// A way to be fed: its name, and a fresh feed for every run.
struct Feeder {
  std::string name;
  std::function<Feed(const FeedOptions&)> open;
};

Feed headrace_feed(const FeedOptions& options);
/// LibTorch's own loader: the same files, decoder, crop and flip, then its stack; `threads`
/// workers.
Feed torch_data_feed(const FeedOptions& options);

/// The first batch of headrace_feed() again and again: nothing to wait for.
Feed one_batch_feed(const FeedOptions& options);

}  // namespace headrace::inline v1::bench
