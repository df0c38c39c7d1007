#include <headrace/models/losses/detail/window_extremes.h>

#include <vector>

#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace headrace::inline v1::models::detail {

namespace {

constexpr int axis_count = 3;
constexpr int bits_of_axis[axis_count] = {bits_of_z, bits_of_y, bits_of_x};

// All that has a neighbour along an axis of `[M, D, H, W]`, before it or behind it.
at::Tensor with_neighbour(const at::Tensor& maps, int axis, bool before) {
  return maps.narrow(axis + 1, before ? 1 : 0, maps.size(axis + 1) - 1);
}

// Those neighbours.
at::Tensor neighbours(const at::Tensor& maps, int axis, bool before) {
  return with_neighbour(maps, axis, !before);
}

// Takes a neighbour into `best` where it is better, and its code.
struct Search {
  bool greatest;
  at::Tensor best;
  at::Tensor codes;

  void see(const at::Tensor& maps, int axis, bool before, int code) const {
    const at::Tensor mine = with_neighbour(best, axis, before);
    const at::Tensor other = neighbours(maps, axis, before);
    const at::Tensor better = greatest ? other > mine : other < mine;
    mine.copy_(at::where(better, other, mine));
    if (codes.defined()) with_neighbour(codes, axis, before).masked_fill_(better, code);
  }
};

// Of windows of all neighbours: along x, then y, then z.
at::Tensor extremes(const at::Tensor& maps, const at::Tensor& codes, bool greatest) {
  at::Tensor found = maps;
  if (codes.defined()) codes.zero_();
  for (int axis = axis_count; axis-- > 0;) {
    const Search search{.greatest = greatest,
                        .best = found.clone(),
                        .codes = codes.defined() ? at::zeros_like(codes) : codes};
    search.see(found, axis, true, 1 << bits_of_axis[axis]);
    search.see(found, axis, false, 2 << bits_of_axis[axis]);
    if (codes.defined()) codes.bitwise_or_(search.codes);
    found = search.best;
  }
  return found;
}

at::Tensor erode(const at::Tensor& maps, ErosionWindow window, const at::Tensor& codes) {
  if (window == ErosionWindow::cube) return extremes(maps, codes, /*greatest=*/false);
  if (codes.defined()) codes.zero_();
  const Search search{.greatest = false, .best = maps.clone(), .codes = codes};
  for (int axis = 0; axis < axis_count; ++axis) {
    search.see(maps, axis, true, 2 * axis + 1);
    search.see(maps, axis, false, 2 * axis + 2);
  }
  return search.best;
}

at::Tensor residue(const at::Tensor& maps, const at::Tensor& eroded, const at::Tensor& codes) {
  return (maps - extremes(eroded, codes, /*greatest=*/true)).clamp_min_(0.0);
}

// What a gradient gives to the neighbours whose value was taken, along an axis.
void give(const at::Tensor& onto, const at::Tensor& gradient, const at::Tensor& taken, int axis,
          bool before) {
  const at::Tensor given = at::where(taken, gradient, 0.0);
  neighbours(onto, axis, before).add_(with_neighbour(given, axis, before));
}

at::Tensor of_extremes(const at::Tensor& gradient, const at::Tensor& codes) {
  at::Tensor found = gradient;
  for (int axis = 0; axis < axis_count; ++axis) {
    const at::Tensor own = codes.bitwise_right_shift(bits_of_axis[axis]).bitwise_and_(3);
    at::Tensor next = at::where(own == 0, found, 0.0);
    // In the order of the loops: what comes from before is what its taker has behind itself.
    give(next, found, own == 2, axis, false);
    give(next, found, own == 1, axis, true);
    found = next;
  }
  return found;
}

at::Tensor of_cross(const at::Tensor& gradient, const at::Tensor& codes) {
  at::Tensor found = at::where(codes == 0, gradient, 0.0);
  for (int axis = 0; axis < axis_count; ++axis) {
    give(found, gradient, codes == 2 * axis + 2, axis, false);
    give(found, gradient, codes == 2 * axis + 1, axis, true);
  }
  return found;
}

void add_erosion(const at::Tensor& onto, const at::Tensor& gradient, ErosionWindow window,
                 const at::Tensor& codes) {
  onto.add_(window == ErosionWindow::cross ? of_cross(gradient, codes)
                                           : of_extremes(gradient, codes));
}

void subtract_dilation(const at::Tensor& onto, const at::Tensor& gradient,
                       const at::Tensor& codes) {
  onto.sub_(of_extremes(gradient, codes));
}

// What the skeleton was before each layer.
std::vector<at::Tensor> skeletons_before(const std::vector<at::Tensor>& layers,
                                         ErosionWindow window) {
  std::vector<at::Tensor> before{at::zeros_like(layers[0])};
  for (std::size_t k = 0; k + 1 < layers.size(); ++k) {
    const at::Tensor& was = before[k];
    before.push_back(window == ErosionWindow::cube ? at::maximum(was, layers[k])
                                                   : was + layers[k] * (1.0 - was));
  }
  return before;
}

std::vector<at::Tensor> of_layers(const std::vector<at::Tensor>& layers, const at::Tensor& gradient,
                                  ErosionWindow window) {
  const std::vector<at::Tensor> before = skeletons_before(layers, window);
  std::vector<at::Tensor> found(layers.size());
  at::Tensor own = gradient;
  for (std::size_t k = layers.size(); k-- > 0;) {
    if (window == ErosionWindow::cube) {
      const at::Tensor wins = layers[k] > before[k];
      found[k] = at::where(wins, own, 0.0);
      own = at::where(wins, 0.0, own);
    } else {
      found[k] = at::where(layers[k] > 0, own * (1.0 - before[k]), 0.0);
      own = own * (1.0 - layers[k]);
    }
  }
  return found;
}

}  // namespace

const WindowExtremes window_operations{.erode = erode,
                                       .residue = residue,
                                       .add_erosion = add_erosion,
                                       .subtract_dilation = subtract_dilation,
                                       .of_layers = of_layers};

}  // namespace headrace::inline v1::models::detail
