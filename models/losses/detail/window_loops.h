#pragma once

#include <headrace/models/losses/detail/window_extremes.h>

// The parts of `window_loops`, by what they go through the maps for.
namespace headrace::inline v1::models::detail {

at::Tensor erode_in_loops(const at::Tensor& maps, ErosionWindow window, const at::Tensor& codes);
at::Tensor residue_in_loops(const at::Tensor& maps, const at::Tensor& eroded,
                            const at::Tensor& codes);
void add_erosion_in_loops(const at::Tensor& onto, const at::Tensor& gradient, ErosionWindow window,
                          const at::Tensor& codes);
void subtract_dilation_in_loops(const at::Tensor& onto, const at::Tensor& gradient,
                                const at::Tensor& codes);
std::vector<at::Tensor> of_layers_in_loops(const std::vector<at::Tensor>& layers,
                                           const at::Tensor& gradient, ErosionWindow window);

}  // namespace headrace::inline v1::models::detail
