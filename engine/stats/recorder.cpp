#include <headrace/engine/stats/internal/recorder.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::inline v1::detail {

void Histogram::clear() noexcept {
  for (Counter& bucket : buckets_)
    bucket.clear();
  count_.clear();
  total_.clear();
  most_.clear();
}

void HistogramSum::add(const Histogram& histogram) noexcept {
  for (std::size_t i = 0; i < Histogram::buckets; ++i)
    buckets_[i] += histogram.buckets_[i].value();
  count_ += histogram.count_.value();
  total_ += histogram.total_.value();
  most_ = std::max(most_, histogram.most_.value());
}

/// The middle of the bucket that holds the quantile, in seconds.
double HistogramSum::quantile(double share) const {
  std::int64_t all = 0;
  for (const std::int64_t n : buckets_)
    all += n;
  const auto wanted = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(all)));
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen < wanted || seen == 0) continue;
    const double octave = std::exp2(static_cast<double>(i / 4 + 2));
    const double low = octave * (1.0 + static_cast<double>(i % 4) / 4.0);
    return std::min((low + octave / 8.0), static_cast<double>(most_)) * 1e-9;
  }
  return 0;
}

Durations HistogramSum::durations() const {
  return {.count = count_,
          .total_s = static_cast<double>(total_) * 1e-9,
          .p50_s = quantile(0.5),
          .p99_s = quantile(0.99),
          .max_s = static_cast<double>(most_) * 1e-9};
}

Recorder::Recorder(std::vector<Stage> stages, int threads, bool on, bool metered)
    : stages_(std::move(stages)),
      threads_(threads),
      on_(on),
      metered_(metered),
      cells_(std::make_unique<Cell[]>(static_cast<std::size_t>(threads) * stages_.size())),
      activities_(std::make_unique<Activity[]>(static_cast<std::size_t>(threads))) {}

void Recorder::add(int thread, std::size_t stage, std::int64_t items,
                   std::int64_t busy_ns) noexcept {
  Cell& c = cell(thread, stage);
  c.items.add(items);
  c.busy.add(busy_ns);
  if (items > 0) c.service.add(busy_ns / items, items);
}

std::vector<StageStats> Recorder::stages() const {
  std::vector<StageStats> all;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    StageStats stats;
    stats.name = stages_[s].name;
    stats.role = stages_[s].role;
    stats.place = stages_[s].place;
    stats.limit = stages_[s].limit;
    HistogramSum service;
    for (int thread = 0; thread < threads_; ++thread) {
      const Cell& c = cells_[static_cast<std::size_t>(thread) * stages_.size() + s];
      stats.items += c.items.value();
      stats.failures += c.failures.value();
      stats.busy_s += static_cast<double>(c.busy.value()) * 1e-9;
      service.add(c.service);
    }
    stats.service = service.durations();
    all.push_back(std::move(stats));
  }
  return all;
}

std::vector<std::int64_t> Recorder::kept() const {
  std::vector<std::int64_t> sums(stages_.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(threads_) * stages_.size(); ++i)
    sums[i % stages_.size()] += cells_[i].kept.value();
  return sums;
}

void Recorder::clear() noexcept {
  for (std::size_t i = 0; i < static_cast<std::size_t>(threads_) * stages_.size(); ++i) {
    cells_[i].items.clear();
    cells_[i].failures.clear();
    cells_[i].busy.clear();
    cells_[i].service.clear();
  }
}

}  // namespace headrace::inline v1::detail
