#pragma once

#include <headrace/models/networks/detail/nnunet_decoder.h>
#include <headrace/models/networks/network.h>

#include <memory>
#include <utility>
#include <vector>

namespace headrace::inline v1::models::detail {

/// An encoder, which gives its maps from the finest stage to the coarsest, and nnU-Net's decoder.
template <typename Encoder>
struct NnUNetModule : torch::nn::Module {
  explicit NnUNetModule(NnUNetShape of)
      : shape(std::move(of)),
        encoder(register_module("encoder", std::make_shared<Encoder>(shape))),
        decoder(register_module("decoder", std::make_shared<NnUNetDecoder>(shape))) {}

  at::Tensor forward(const at::Tensor& images) {
    check_images(shape, images);
    return decoder->forward(encoder->forward(images), false).front();
  }

  Output outputs(const at::Tensor& images) {
    check_images(shape, images);
    std::vector<at::Tensor> logits =
        decoder->forward(encoder->forward(images), shape.deep_supervision);
    Output output{.main = std::move(logits.front())};
    output.deep.assign(std::make_move_iterator(logits.begin() + 1),
                       std::make_move_iterator(logits.end()));
    return output;
  }

  NnUNetShape shape;
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<NnUNetDecoder> decoder;
};

}  // namespace headrace::inline v1::models::detail
