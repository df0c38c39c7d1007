#include <headrace/augment/spectrogram/detail/spec_masks.h>
#include <headrace/augment/spectrogram/detail/spec_task.h>
#include <headrace/engine/tensor/half_floats.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

struct Run {
  std::int64_t begin;
  std::int64_t end;
};

/// The union of masks on an axis of `cells`, in order and apart from each other.
class Runs {
 public:
  Runs(const std::int32_t* masks, int count, std::int64_t cells) {
    for (int i = 0; i < count; ++i) {
      const std::int64_t begin = std::clamp<std::int64_t>(masks[2 * i], 0, cells);
      const std::int64_t end = std::clamp<std::int64_t>(begin + masks[2 * i + 1], begin, cells);
      if (end > begin) insert({begin, end});
    }
    join();
  }
  const Run* begin() const { return runs_.data(); }
  const Run* end() const { return runs_.data() + count_; }
  bool empty() const { return count_ == 0; }

 private:
  void insert(Run run) {
    std::size_t place = count_++;
    for (; place > 0 && runs_[place - 1].begin > run.begin; --place)
      runs_[place] = runs_[place - 1];
    runs_[place] = run;
  }
  void join() {
    std::size_t last = 0;
    for (std::size_t i = 1; i < count_; ++i) {
      if (runs_[i].begin <= runs_[last].end) {
        runs_[last].end = std::max(runs_[last].end, runs_[i].end);
      } else {
        runs_[++last] = runs_[i];
      }
    }
    if (count_ > 0) count_ = last + 1;
  }

  std::array<Run, most_spec_masks> runs_;  // the first count_ of them
  std::size_t count_ = 0;
};

/// A plane as `outer` rows of `inner` cells, and what of it is masked: the runs of whole rows, and
/// the cells of each row. Cells beyond the valid ones are padding and stay.
struct Plan {
  Plan(const SpecTask& task, const std::int32_t* masks)
      : first(task.frequency_first),
        frames(std::clamp<std::int64_t>(masks[0], 0, task.frames)),
        outer(first ? task.bins : task.frames),
        inner(first ? task.frames : task.bins),
        valid_outer(first ? task.bins : frames),
        valid_inner(first ? frames : task.bins),
        bins(masks + SpecMasks::header, task.frequency_masks, task.bins),
        times(masks + SpecMasks::header + std::ptrdiff_t{2} * task.frequency_masks, task.time_masks,
              frames) {}

  const Runs& rows() const { return first ? bins : times; }
  const Runs& cells() const { return first ? times : bins; }

  bool first;
  std::int64_t frames;
  std::int64_t outer;
  std::int64_t inner;
  std::int64_t valid_outer;
  std::int64_t valid_inner;
  Runs bins;
  Runs times;
};

/// Rows shorter than this are copied whole and masked afterwards.
constexpr std::size_t short_row = 512;
/// Runs up to this are written column by column, cell by cell.
constexpr std::int64_t narrow_run = 4;

template <class T>
class Masker {
 public:
  explicit Masker(const SpecTask& task) : task_(task) {
    from_float(task.fill[0], one_fill_);
    if (!task.fill_per_bin) return;
    fill_.resize(static_cast<std::size_t>(task.bins));
    for (std::size_t i = 0; i < fill_.size(); ++i)
      from_float(task.fill[i], fill_[i]);
  }

  /// Copies a plane, masked; `from` equal to `to` masks in place.
  void copy(const Plan& plan, const T* from, T* to) const {
    const bool in_place = from == to;
    std::int64_t row = 0;
    for (const Run& masked : plan.rows()) {
      open_rows(plan, row, masked.begin, from, to);
      if (!task_.fill_per_bin && plan.valid_inner == plan.inner) {  // one piece
        std::fill(to + masked.begin * plan.inner, to + masked.end * plan.inner, one_fill_);
        row = masked.end;
        continue;
      }
      for (row = masked.begin; row < masked.end; ++row) {
        T* out = to + row * plan.inner;
        fill(out, row, {0, plan.valid_inner});
        if (!in_place && plan.valid_inner < plan.inner) {
          copy_cells(from + row * plan.inner, out, plan.valid_inner, plan.inner);
        }
      }
    }
    open_rows(plan, row, plan.valid_outer, from, to);
    copy_rows(plan, plan.valid_outer, plan.outer, from, to);
  }

 private:
  static void copy_cells(const T* from, T* to, std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
  }

  static void copy_rows(const Plan& plan, std::int64_t first, std::int64_t last, const T* from,
                        T* to) {
    if (from != to) copy_cells(from, to, first * plan.inner, last * plan.inner);
  }

  /// Rows of which only cells are masked.
  void open_rows(const Plan& plan, std::int64_t first, std::int64_t last, const T* from,
                 T* to) const {
    const bool is_short = static_cast<std::size_t>(plan.inner) * sizeof(T) < short_row;
    if (from == to || is_short || plan.cells().empty()) {
      copy_rows(plan, first, last, from, to);
      for (const Run& run : plan.cells())
        fill_columns(plan, first, last, run, to);
      return;
    }
    for (std::int64_t row = first; row < last; ++row) {
      const T* in = from + row * plan.inner;
      T* out = to + row * plan.inner;
      std::int64_t cell = 0;
      for (const Run& run : plan.cells()) {
        copy_cells(in, out, cell, run.begin);
        fill(out, row, run);
        cell = run.end;
      }
      copy_cells(in, out, cell, plan.inner);
    }
  }

  /// The same cells of many rows.
  void fill_columns(const Plan& plan, std::int64_t first, std::int64_t last, Run run, T* to) const {
    if (task_.fill_per_bin || run.end - run.begin > narrow_run) {
      for (std::int64_t row = first; row < last; ++row)
        fill(to + row * plan.inner, row, run);
      return;
    }
    const T value = one_fill_;
    for (std::int64_t cell = run.begin; cell < run.end; ++cell) {
      T* out = to + first * plan.inner + cell;
      for (std::int64_t row = first; row < last; ++row, out += plan.inner)
        *out = value;
    }
  }

  void fill(T* row, std::int64_t number, Run run) const {
    if (task_.fill_per_bin && !task_.frequency_first) {
      std::copy(fill_.data() + run.begin, fill_.data() + run.end, row + run.begin);
    } else {
      const T value = task_.fill_per_bin ? fill_[static_cast<std::size_t>(number)] : one_fill_;
      std::fill(row + run.begin, row + run.end, value);
    }
  }

  const SpecTask& task_;
  T one_fill_{};
  std::vector<T> fill_;  ///< of each bin, where they differ
};

float blend(float first, float next, float share) {
  return share == 0.0F ? first : first + share * (next - first);
}

/// Writes the warped plane; padding is copied.
template <class T>
void warp(const SpecTask& task, const std::int32_t* masks, const T* from, T* to) {
  const std::int64_t frames = std::min<std::int64_t>(masks[0], task.frames);
  const std::int64_t point = std::clamp<std::int64_t>(masks[1], 1, frames - 1);
  const std::int64_t moved = std::clamp<std::int64_t>(masks[2], 1, frames - 1);
  thread_local std::vector<WarpTap> taps;
  taps.resize(static_cast<std::size_t>(frames));
  for (std::int64_t frame = 0; frame < frames; ++frame)
    taps[static_cast<std::size_t>(frame)] = warp_tap(point, moved, frames, frame);

  const std::int64_t frame_step = task.frequency_first ? 1 : task.bins;
  const std::int64_t bin_step = task.frequency_first ? task.frames : 1;
  const auto cell = [&](std::int64_t bin, std::int64_t frame) {
    const WarpTap tap = taps[static_cast<std::size_t>(frame)];
    const T* first = from + bin * bin_step + tap.first * frame_step;
    const T* next = tap.first + 1 < frames ? first + frame_step : first;
    from_float(blend(to_float(*first), to_float(*next), tap.share),
               to[bin * bin_step + frame * frame_step]);
  };
  if (task.frequency_first) {
    for (std::int64_t bin = 0; bin < task.bins; ++bin) {
      for (std::int64_t frame = 0; frame < frames; ++frame)
        cell(bin, frame);
      std::copy(from + bin * bin_step + frames, from + (bin + 1) * bin_step,
                to + bin * bin_step + frames);
    }
  } else {
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      for (std::int64_t bin = 0; bin < task.bins; ++bin)
        cell(bin, frame);
    }
    std::copy(from + frames * frame_step, from + task.frames * frame_step,
              to + frames * frame_step);
  }
}

template <class T>
void run(const SpecTask& task) {
  const Masker<T> masker(task);
  const std::int64_t cells = task.bins * task.frames;
  for (std::int64_t plane = 0; plane < task.planes; ++plane) {
    const std::int32_t* masks = task.masks + plane / task.planes_per_row * task.mask_values;
    const T* from = static_cast<const T*>(task.from) + plane * cells;
    T* to = static_cast<T*>(task.to) + plane * cells;
    if (task.warps && masks[1] > 0 && std::min<std::int64_t>(masks[0], task.frames) >= 2) {
      warp(task, masks, from, to);
      from = to;
    }
    masker.copy(Plan(task, masks), from, to);
  }
}

}  // namespace

void spec_augment_on_host(const SpecTask& task) {
  switch (task.dtype) {
    case DType::float16:
      return run<float16_t>(task);
    case DType::bfloat16:
      return run<bfloat16_t>(task);
    default:
      return run<float>(task);
  }
}

}  // namespace headrace::inline v1::detail
