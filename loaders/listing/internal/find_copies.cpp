#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/listing/internal/find_copies.h>
#include <headrace/loaders/listing/internal/kept_sums.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

struct Candidate {
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;
  std::size_t record = 0;
};

bool is_alike(const Candidate& a, const Candidate& b) {
  return a.bytes == b.bytes && a.sum == b.sum;
}

/// Those that another one is like, side by side.
void keep_alike(std::vector<Candidate>& all) {
  std::ranges::sort(all, {},
                    [](const Candidate& one) { return std::tie(one.bytes, one.sum, one.record); });
  std::size_t kept = 0;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && is_alike(all[begin], all[end]))
      ++end;
    if (end - begin == 1 || all[begin].bytes == 0) continue;
    for (std::size_t i = begin; i < end; ++i)
      all[kept++] = all[i];
  }
  all.resize(kept);
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Comparison {
 public:
  explicit Comparison(const CopySearch& search)
      : search_(search), sums_(search.kept), began_(now()) {}

  FoundCopies run() {
    FoundCopies found;
    std::vector<Candidate> alike = of_one_size();
    found.compared = alike.size();
    if (alike.empty()) return found;
    recall(alike);
    if (forecast_ == 0.0 && compare(alike, false)) {
      const auto large =
          std::stable_partition(alike.begin(), alike.end(),
                                [](const Candidate& one) { return one.bytes <= sampled_bytes; });
      std::vector<Candidate> whole(large, alike.end());
      alike.erase(large, alike.end());
      if (compare(whole, true)) {
        alike.insert(alike.end(), whole.begin(), whole.end());
        found.sets = sets_of(alike);
      }
    }
    found.forecast_s = forecast_;
    if (!search_.stop.stop_requested())
      sums_.set_remark(std::uint64_t{digest_} << 32 | static_cast<std::uint32_t>(forecast_));
    sums_.keep();
    return found;
  }

 private:
  double now() const { return search_.clock ? search_.clock() : steady_seconds(); }

  std::vector<Candidate> of_one_size() const {
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < search_.records; ++i)
      if (const std::uint64_t bytes = search_.bytes(i); bytes > 0)
        all.push_back({.bytes = bytes, .record = i});
    keep_alike(all);
    return all;
  }

  // What was decided of the same sizes.
  void recall(const std::vector<Candidate>& alike) {
    for (const Candidate& one : alike)
      digest_ = (digest_ ^ static_cast<std::uint32_t>(one.bytes)) * 16777619U;
    if (sums_.remark() >> 32 != digest_) return;
    const auto seconds = static_cast<double>(sums_.remark() & 0xffffffffU);
    decided_ = seconds == 0.0;
    if (search_.most_seconds > 0.0 && seconds > search_.most_seconds) forecast_ = seconds;
  }

  // Leaves those whose sums are alike, too. False: it would take too long, or is to stop.
  bool compare(std::vector<Candidate>& all, bool whole) {
    const std::size_t most = whole ? looked_at_whole(all) : 512;
    const std::size_t step = std::max<std::size_t>(1, all.size() / most);
    const std::size_t looked = std::min(most, all.size());
    const double before = now();
    add_sums(all, whole, looked, [step](std::size_t i) { return i * step; });
    if (!affordable(all, whole, {.looked = looked, .step = step, .seconds = now() - before}))
      return false;
    add_sums(all, whole, all.size(),
             [&](std::size_t i) { return i % step == 0 && i / step < looked ? all.size() : i; });
    keep_alike(all);
    return !search_.stop.stop_requested();
  }

  // As many as have about a GiB.
  static std::size_t looked_at_whole(const std::vector<Candidate>& all) {
    const std::uint64_t largest = all.empty() ? 1 : all.back().bytes;
    return static_cast<std::size_t>(std::clamp<std::uint64_t>((1ULL << 30) / largest, 1, 16));
  }

  // Of the candidate at place(i) for each i below `count`.
  template <class Place>
  void add_sums(std::vector<Candidate>& all, bool whole, std::size_t count, const Place& place) {
    in_parallel(count, [&](std::size_t i) {
      const std::size_t at = place(i);
      if (at < all.size() && !search_.stop.stop_requested()) add_sum(all[at], whole);
    });
  }

  void add_sum(Candidate& one, bool whole) {
    one.sum = 0;
    for (const std::string& file : search_.files(one.record)) {
      const std::optional<std::uint64_t> sum = sums_.of(file, whole);
      if (!sum) {
        one.bytes = 0;
        return;
      }
      one.sum = one.sum * 0x9e3779b97f4a7c15 + *sum;
    }
  }

  struct Look {
    std::size_t looked = 0;
    std::size_t step = 1;
    double seconds = 0.0;
  };

  bool affordable(const std::vector<Candidate>& all, bool whole, const Look& look) {
    if (look.looked == all.size()) return true;
    double bytes = 0.0;
    double bytes_looked_at = 1.0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto read =
          static_cast<double>(whole ? all[i].bytes : std::min(all[i].bytes, sampled_bytes));
      bytes += read;
      if (i % look.step == 0 && i / look.step < look.looked) bytes_looked_at += read;
    }
    const double times =
        std::max(static_cast<double>(all.size()) / static_cast<double>(look.looked),
                 bytes / bytes_looked_at);
    const double forecast = now() - began_ + look.seconds * (times - 1.0);
    if (search_.most_seconds <= 0.0 || decided_ || forecast <= search_.most_seconds) {
      if (forecast > 10.0 && search_.on_long) search_.on_long(forecast);
      return true;
    }
    forecast_ = std::ceil(std::min(forecast, 1e9));
    return false;
  }

  static std::vector<std::vector<std::size_t>> sets_of(const std::vector<Candidate>& alike) {
    std::vector<std::vector<std::size_t>> sets;
    for (std::size_t i = 0; i < alike.size(); ++i) {
      if (i == 0 || !is_alike(alike[i - 1], alike[i])) sets.emplace_back();
      sets.back().push_back(alike[i].record);
    }
    std::ranges::sort(sets);
    return sets;
  }

  const CopySearch& search_;
  KeptSums sums_;
  double began_;
  std::uint32_t digest_ = 2166136261U;
  bool decided_ = false;  // to look
  double forecast_ = 0.0;
};

}  // namespace

FoundCopies find_copies(const CopySearch& search) {
  return Comparison(search).run();
}

}  // namespace headrace::inline v1::detail
