#pragma once

#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/detail/nnunet_blocks.h>

#include <memory>
#include <vector>

namespace headrace::inline v1::models::detail {

/// nnU-Net's decoder: each stage enlarges what the coarser one gave, puts it before the encoder's
/// maps of its own size, and convolves both. Every stage has a head, so that weights fit with deep
/// supervision and without. A stage without its head is a block.
struct NnUNetDecoder : BlockModule {
  explicit NnUNetDecoder(const NnUNetShape& shape);

  /// From the encoder's maps, the finest first, to logits, the finest first: of the finest stage
  /// alone, or of all.
  std::vector<at::Tensor> forward(std::vector<at::Tensor> skips, bool deep) const;

  // What a stage makes of the coarser one's maps and the encoder's.
  at::Tensor join(std::size_t stage, at::Tensor coarse, at::Tensor skip) const;

  // All from the coarsest stage to the finest.
  std::shared_ptr<PartList<ConvStack>> stages;
  std::shared_ptr<PartList<UpConv>> transpconvs;
  std::shared_ptr<PartList<Conv>> seg_layers;
};

}  // namespace headrace::inline v1::models::detail
