#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/listing/internal/kept_sums.h>
#include <headrace/loaders/listing/internal/listing_file.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <system_error>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

constexpr const char* heading = "headrace sums 1";

/// A file that changed while it was read may change again without its time showing it.
bool is_settled(const FileStamp& stamp) {
  constexpr std::int64_t too_fresh_ns = 100'000'000;
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return stamp.modified_ns < now.count() - too_fresh_ns;
}

}  // namespace

KeptSums::KeptSums(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code failed;
  if (file_.empty() || !std::filesystem::exists(file_, failed)) return;
  try {
    ListingReader in(file_.native());
    if (in.text(64) != heading) throw UnusableListing("is of another kind");
    const std::uint64_t remark = in.number();
    std::vector<Sum> kept = in.values<Sum>(SIZE_MAX);
    in.finish();
    std::ranges::sort(kept, {}, &Sum::key);
    kept_ = std::move(kept);
    remark_ = remark;
  } catch (const UnusableListing&) {
    // They are made anew.
  }
}

std::optional<std::uint64_t> KeptSums::of(const std::string& path, bool whole) {
  constexpr std::uint64_t of_whole = 0x9e3779b97f4a7c15;
  try {
    return of(path, whole ? of_whole : 0,
              [&] { return whole ? content_sum(path) : content_sample(path); });
  } catch (const ResourceError&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::uint64_t KeptSums::of(const std::string& path, std::uint64_t kind,
                           const std::function<std::uint64_t()>& make) {
  const FileStamp stamp = file_stamp(path);
  const bool settled = is_settled(stamp);  // before it is read
  const std::uint64_t key = hash_name(path) ^ kind;
  const auto known = std::ranges::lower_bound(kept_, key, {}, &Sum::key);
  if (known != kept_.end() && known->key == key && known->bytes == stamp.bytes &&
      known->modified_ns == stamp.modified_ns)
    return known->sum;
  const std::uint64_t sum = make();
  if (file_.empty() || !settled) return sum;
  const std::lock_guard lock(mutex_);
  fresh_.push_back({key, stamp.bytes, stamp.modified_ns, sum});
  return sum;
}

void KeptSums::set_remark(std::uint64_t remark) noexcept {
  changed_ = changed_ || remark != remark_;
  remark_ = remark;
}

void KeptSums::keep() {
  if (file_.empty() || (fresh_.empty() && !changed_)) return;
  fresh_.insert(fresh_.end(), kept_.begin(), kept_.end());
  std::ranges::stable_sort(fresh_, {}, &Sum::key);
  const auto last = std::unique(fresh_.begin(), fresh_.end(),
                                [](const Sum& a, const Sum& b) { return a.key == b.key; });
  fresh_.erase(last, fresh_.end());
  kept_ = std::exchange(fresh_, {});
  changed_ = false;
  std::error_code failed;
  std::filesystem::create_directories(file_.parent_path(), failed);
  try {
    ListingWriter out(file_.native());
    out.text(heading);
    out.number(remark_);
    out.values(kept_);
    out.finish();
  } catch (const UnusableListing&) {
    // They are made anew.
  }
}

}  // namespace headrace::inline v1::detail
