#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

// Erosion and dilation by windows of three, and their gradients: what soft_skeleton is made of.
// Maps are contiguous `[M, D, H, W]` of float or double. `codes` are int8 of their shape and say
// where a value came from; undefined where no gradient is wanted. Of equal values the middle one is
// taken, else the one before it. Nothing looks at values: nothing waits for the device.
namespace headrace::inline v1::models::detail {

enum class ErosionWindow { cross, cube };

struct WindowExtremes {
  /// The least value of each window.
  at::Tensor (*erode)(const at::Tensor& maps, ErosionWindow window, const at::Tensor& codes);
  /// relu(maps - the greatest value of 3 x 3 x 3 of `eroded`).
  at::Tensor (*residue)(const at::Tensor& maps, const at::Tensor& eroded, const at::Tensor& codes);
  /// onto += the gradient of `erode` of `gradient`.
  void (*add_erosion)(const at::Tensor& onto, const at::Tensor& gradient, ErosionWindow window,
                      const at::Tensor& codes);
  /// onto -= the gradient of the greatest values of `gradient`.
  void (*subtract_dilation)(const at::Tensor& onto, const at::Tensor& gradient,
                            const at::Tensor& codes);
  /// Of a skeleton of `layers`, the gradient of what each is the relu of; the cube's takes their
  /// maximum.
  std::vector<at::Tensor> (*of_layers)(const std::vector<at::Tensor>& layers,
                                       const at::Tensor& gradient, ErosionWindow window);
};

/// Loops on LibTorch's threads, for maps on the CPU.
extern const WindowExtremes window_loops;

/// LibTorch's operations, for any device, with the same results bit by bit on the CPU.
extern const WindowExtremes window_operations;

/// Bits of codes of windows of all neighbours: two an axis, 1 for before and 2 for behind. A cross
/// has one number, 0 for the middle, then before and behind along z, y and x.
constexpr int bits_of_x = 0;
constexpr int bits_of_y = 2;
constexpr int bits_of_z = 4;

/// Of the codes of a cross: what a neighbour's says that took the value of the middle.
constexpr int code_back(std::size_t code) {
  const auto number = static_cast<int>(code);
  return number == 0 ? 0 : number % 2 == 1 ? number + 1 : number - 1;
}

// The parts of `window_loops`, by what they go through the maps for.
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
