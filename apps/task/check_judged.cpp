#include <headrace/apps/feed/finite_records.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/check_judged.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/listing/internal/kept_sums.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

using FileBytes = std::span<const std::byte>;

bool begins_with(FileBytes file, std::string_view text) {
  return file.size() >= text.size() && std::memcmp(file.data(), text.data(), text.size()) == 0;
}

bool ends_with(FileBytes file, std::string_view text) {
  return file.size() >= text.size() &&
         std::memcmp(file.data() + file.size() - text.size(), text.data(), text.size()) == 0;
}

bool is_png(FileBytes file) {
  return begins_with(file, "\x89PNG");
}

// Other formats have no end that could be missing.
bool is_whole_at_ends(FileBytes file) {
  if (begins_with(file, "\xff\xd8")) return ends_with(file, "\xff\xd9");
  return is_png(file) && ends_with(file, "IEND\xae\x42\x60\x82");
}

constexpr std::uint64_t of_dim = 2;  // what is kept of a dim picture's file

struct Judged {
  const char* part = "";
  std::shared_ptr<const LabelledSource> labelled{};
  std::shared_ptr<const Source> records{};  // the same, those that are not finite bad ones
  std::int64_t row = 0;
};

// The rows of all members, each once.
std::vector<Judged> judged_records(const TaskRecords& records) {
  std::vector<Judged> all;
  const auto add = [&](const char* part, const RecordSet& set,
                       std::vector<std::int64_t> SplitParts::*rows) {
    const auto& source = set.source;
    const bool pictures = source->fields().find("image") != nullptr;
    if (source->size() == 0) return;
    // To look at a table that is in storage would be to read it once more.
    if (!pictures && source->blocking() && source->file(0).path.empty()) return;
    const auto finite = pictures ? std::shared_ptr<const Source>(source) : finite_records(source);
    std::set<std::int64_t> seen;
    for (const SplitParts& member : records.members)
      seen.insert((member.*rows).begin(), (member.*rows).end());
    for (const std::int64_t row : seen)
      all.push_back({.part = part, .labelled = source, .records = finite, .row = row});
  };
  add("validation", records.validation, &SplitParts::validation);
  add("test", records.test, &SplitParts::test);
  return all;
}

class Look {
 public:
  Look(const TaskRecords& records, const JudgedCheck& check)
      : check_(check),
        all_(judged_records(records)),
        kept_(kept_in()),
        until_(std::chrono::steady_clock::now() + check.most) {}

  void run() {
    headrace::detail::in_parallel(all_.size(), static_cast<std::size_t>(usable_cores()), [this] {
      return [this, sample = Sample()](std::size_t i) mutable {
        if (is_over()) return;
        look_at(all_[i], sample);
        ++seen_;
      };
    });
    kept_.keep();
  }

  void tell() const {
    if (seen_ < all_.size())
      log_data(
          headrace::LogLevel::warning,
          fmt::format("[data] {} of the {} records of validation and test were looked at in the "
                      "time that data.check: quick has; decode looks at all of them",
                      seen_.load(), all_.size()));
    if (dim_ > 0)
      log_data(
          headrace::LogLevel::warning,
          fmt::format("[data] {} pictures of validation and test have 12 bits in 16 and become "
                      "nearly black: save them times 16",
                      dim_.load()));
    if (bad_.empty()) return;
    const auto& [first, cause] = *bad_.begin();
    const std::string text = fmt::format(
        "[data] {} of the {} records of validation and test that were looked at cannot be read, "
        "the first of the {}: {}: {}; mend them or take them out",
        bad_.size(), seen_.load(), all_[first].part, all_[first].labelled->origin(all_[first].row),
        cause);
    if (check_.must_be_sound)
      throw DataError(text +
                      ", or set data.bad_samples.rule: replace, with which figures are of "
                      "the others");
    if (!check_.may_be_gone) require_some();
    log_data(headrace::LogLevel::warning, text + "; figures are of the others");
  }

 private:
  // A part of which nothing can be read would be found out by its first evaluation.
  void require_some() const {
    std::map<std::string_view, std::size_t> sound;
    for (const Judged& one : all_)
      ++sound[one.part];
    for (const auto& [place, cause] : bad_) {
      const Judged& one = all_[place];
      if (--sound[one.part] > 0) continue;
      throw DataError(
          fmt::format("[data] records of the {} must be such as can be read, none can, {} for one: "
                      "{}; mend them, or leave that part out",
                      one.part, one.labelled->origin(one.row), cause));
    }
  }

  std::filesystem::path kept_in() const {
    if (check_.listings.empty()) return {};
    std::set<std::string> names;
    for (const Judged& one : all_)
      names.insert(one.labelled->name());
    const std::string places = fmt::format("{}", fmt::join(names, "\n"));
    return check_.listings / fmt::format("{:016x}.sound", hash_name(places));
  }

  bool is_over() const {
    return check_.decode.check == FileCheck::quick && std::chrono::steady_clock::now() >= until_;
  }

  void look_at(const Judged& one, Sample& sample) {
    try {
      const RecordFile file = one.labelled->file(one.row);
      std::optional<std::uint64_t> found;
      const auto look = [&] {
        if (!found) found = look_inside(one, sample) ? of_dim : 1;
        return *found;
      };
      const auto kind = static_cast<std::uint64_t>(check_.decode.check) + most_bytes() * 4;
      if ((file.path.empty() ? look() : kept_.of(path_of(file), kind, look)) == of_dim) ++dim_;
      const RecordFile mask = one.labelled->mask_file(one.row);
      if (!mask.path.empty()) kept_.of(path_of(mask), kind, look);
    } catch (const DataError& error) {
      const std::lock_guard lock(mutex_);
      bad_.emplace(static_cast<std::size_t>(&one - all_.data()), error.what());
    }
  }

  static std::string path_of(const RecordFile& file) {
    return std::string(file.root) + '/' + std::string(file.path);
  }

  // Whether the picture is a dim one.
  bool look_inside(const Judged& one, Sample& sample) const {
    sample.reset();
    one.records->read(one.row, sample);
    const auto has = [&](const char* name) { return one.labelled->fields().find(name) != nullptr; };
    if (has("mask")) look_at_mask(sample["mask"].as_bytes());
    return has("image") && look_at_picture(sample["image"].as_bytes()).is_dim();
  }

  ImageHeader look_at_picture(FileBytes file) const {
    ImageDecoder& decoder = ImageDecoder::this_thread();
    if (check_.decode.check == FileCheck::quick && is_whole_at_ends(file)) {
      const ImageHeader header = decoder.open(file, most_bytes());
      if (header.bits < 16) return header;
    }
    return decoder.check(file, most_bytes());
  }

  // Formats without an end are decoded by check_masks(): exactly, or not at all.
  void look_at_mask(FileBytes file) const {
    if (is_png(file))
      look_at_picture(file);
    else
      ImageDecoder::this_thread().open(file, most_bytes());
  }

  std::size_t most_bytes() const {
    return check_.decode.sample_limit ? check_.decode.sample_limit->value : ImageLimits::memory;
  }

  const JudgedCheck& check_;
  std::vector<Judged> all_;
  headrace::detail::KeptSums kept_;
  std::chrono::steady_clock::time_point until_;
  std::atomic<std::size_t> seen_{0};
  std::atomic<std::size_t> dim_{0};
  std::mutex mutex_;                        // for bad_
  std::map<std::size_t, std::string> bad_;  // causes, by the record's place in all_
};

}  // namespace

void check_judged(const TaskRecords& records, const JudgedCheck& check) {
  if (check.decode.check == FileCheck::none) return;
  Look look(records, check);
  look.run();
  look.tell();
}

}  // namespace headrace::inline v1::app
