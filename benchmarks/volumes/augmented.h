#pragma once

#include <headrace/benchmarks/volumes/data.h>
#include <headrace/engine/headrace.h>

#include <cstdint>
#include <functional>
#include <string>

namespace headrace::inline v1::bench {

/// What is done with a patch.
enum class Augmented : unsigned char {
  nnunet,   ///< nnU-Net's augmentation with its probabilities
  surface,  ///< every patch turned, scaled, bent, mirrored, with noise and gamma
  spatial,  ///< every patch turned and scaled, nothing else
  copied,   ///< cut out
};

/// Throws ConfigError for another word.
Augmented augmented_of(const std::string& word);

struct AugmentedOptions {
  Augmented what = Augmented::nnunet;
  std::int64_t patches = 64;  ///< of an epoch
  bool with_labels = true;
  double cache_share = 1.0;  ///< of the volumes' bytes
  int prefetch = 4;          ///< batches
};

/// The spatial part.
SpatialTransform transform_of(Augmented what);

/// A loader that lives as long as it.
class AugmentedLoader {
 public:
  AugmentedLoader(const Work& work, const AugmentedOptions& options);

  /// Goes through an epoch; returns patches. `on_batch` may be empty.
  double epoch(const std::function<void()>& on_batch = {});
  BlockCacheStats cache_stats() const { return cache_->stats(); }

 private:
  std::shared_ptr<BlockCache> cache_;
  std::shared_ptr<Loader> loader_;
  std::int64_t next_ = 0;
};

}  // namespace headrace::inline v1::bench
