#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/folder_lock.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/volume/detail/case/prepare_case.h>
#include <headrace/loaders/volume/detail/case/shared_bytes.h>
#include <headrace/loaders/volume/volume_preparation.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

namespace headrace::inline v1 {

const char* name_of(VolumeNormalization::Scheme scheme) noexcept {
  constexpr std::array names{"none", "zscore", "zscore_nonzero", "ct", "zero_to_one", "by_255"};
  return names[static_cast<std::size_t>(scheme)];
}

std::string to_string(const VolumePreparation& preparation) {
  nlohmann::json channels = nlohmann::json::array();
  for (const VolumeNormalization& channel : preparation.channels) {
    nlohmann::json one{{"scheme", name_of(channel.scheme)}};
    if (channel.scheme == VolumeNormalization::Scheme::ct)
      one.update({{"low", channel.low},
                  {"high", channel.high},
                  {"mean", channel.mean},
                  {"deviation", channel.deviation}});
    channels.push_back(std::move(one));
  }
  return nlohmann::json{{"spacing", preparation.spacing},
                        {"crop", preparation.crop},
                        {"channels", std::move(channels)}}
      .dump();
}

namespace {

[[noreturn]] void refuse_preparation(const std::string& rule) {
  throw ConfigError("[prepare volumes] " + rule);
}

void check(const VolumeNormalization& channel) {
  if (channel.scheme != VolumeNormalization::Scheme::ct) return;
  const auto text = [](double value) { return std::to_string(value); };
  if (!std::isfinite(channel.low) || !std::isfinite(channel.high) ||
      !(channel.low <= channel.high)) {
    refuse_preparation("ct must cut to a low value and one that is not lower, got " +
                       text(channel.low) + " and " + text(channel.high));
  }
  if (!std::isfinite(channel.mean) || !std::isfinite(channel.deviation) ||
      channel.deviation < 0.0) {
    refuse_preparation("ct must have a mean and a deviation of at least 0, got " +
                       text(channel.mean) + " and " + text(channel.deviation));
  }
}

void check(const VolumePreparation& preparation) {
  for (const double length : preparation.spacing)
    if (!std::isfinite(length) || length < 0.0)
      refuse_preparation("spacing must be 0 or more mm, got " + std::to_string(length));
  for (const VolumeNormalization& channel : preparation.channels)
    check(channel);
}

void check(const PrepareOptions& options) {
  using Int16 = std::numeric_limits<std::int16_t>;
  if (options.folder.empty()) refuse_preparation("a folder to write to must be named, got nothing");
  for (const std::int64_t side : options.chunk)
    if (side < 1 || side > 1024)
      refuse_preparation("a chunk's sides must be 1 to 1024 voxels, got " + std::to_string(side));
  if (options.threads < 1 || options.threads > 1024)
    refuse_preparation("threads must be 1 to 1024, got " + std::to_string(options.threads));
  for (const std::int64_t value : options.values)
    if (value < Int16::min() || value > Int16::max())
      refuse_preparation("values of labels must fit 16 bits, got " + std::to_string(value));
}

void check(const NnUNetCase& of, const VolumePreparation& preparation) {
  const std::string who = "case " + detail::quoted(of.name) + ": ";
  const std::string outside("/\0", 2);
  if (of.name.empty() || of.name.starts_with('.') ||
      of.name.find_first_of(outside) != std::string::npos) {
    refuse_preparation(
        who +
        "a case's name must be that of a file in the folder, without \"/\" and with no "
        "\".\" before it; rename its files");
  }
  const std::size_t images = of.images.size();
  if (images == 0) refuse_preparation(who + "must have an image");
  const std::size_t channels = preparation.channels.size();
  if (channels != 1 && channels != images) {
    refuse_preparation(who + "normalizations must be one, or one for each of " +
                       std::to_string(images) + " channels, got " + std::to_string(channels));
  }
}

void check(const std::vector<NnUNetCase>& cases, const VolumePreparation& preparation) {
  std::set<std::string> names;
  for (const NnUNetCase& of : cases) {
    check(of, preparation);
    if (!names.insert(of.name).second)
      refuse_preparation("every case must have a name of its own, got two of " +
                         detail::quoted(of.name));
  }
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw ResourceError("[prepare volumes] " + detail::printable(folder.native()) +
                        ": cannot be made: " + failed.message());
  }
}

/// One run of prepare_cases().
class PreparationRun {
 public:
  PreparationRun(const std::vector<NnUNetCase>& cases, const VolumePreparation& preparation,
                 const PrepareOptions& options)
      : cases_(cases),
        preparation_(preparation),
        options_(options),
        memory_(options.memory),
        prepared_(cases.size()) {}

  std::vector<PreparedCase> prepare() {
    for (const NnUNetCase& of : cases_)
      made_from_.push_back(detail::made_from(of, preparation_, options_));
    find_kept();
    if (left_.empty()) {
      if (kept_ > 0) report();
      return made();
    }
    // Records are read again under the lock: another run may just have ended.
    const FolderLock lock(options_.folder);
    if (lock.refused()) {
      throw ResourceError("[prepare volumes] " + detail::printable(options_.folder.native()) +
                          ": another run is preparing into it; wait for it, or name another "
                          "folder");
    }
    find_kept();
    say_changed();
    if (kept_ > 0) report();
    const auto threads = static_cast<std::size_t>(options_.threads);
    const std::size_t together = std::clamp<std::size_t>(left_.size(), 1, threads);
    each_ = static_cast<int>(threads / together);
    detail::in_parallel(left_.size(), together,
                        [this] { return [this](std::size_t i) { prepare_one(left_[i]); }; });
    return made();
  }

 private:
  std::vector<PreparedCase> made() {
    std::vector<PreparedCase> made;
    for (std::optional<PreparedCase>& one : prepared_)
      if (one) made.push_back(std::move(*one));
    return made;
  }

  void find_kept() {
    left_.clear();
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      prepared_[i] = detail::read_record({options_.folder, cases_[i].name}, made_from_[i]);
      if (!prepared_[i]) left_.push_back(i);
    }
    done_ = kept_ = static_cast<std::int64_t>(cases_.size() - left_.size());
  }

  void say_changed() const {
    std::int64_t files = 0;
    for (const std::size_t i : left_)
      files += detail::changed_files({options_.folder, cases_[i].name}, made_from_[i]);
    if (files > 0 && options_.on_changed) options_.on_changed(files);
  }

  void prepare_one(std::size_t i) {
    if (options_.stop.stop_requested()) return;
    detail::UnpreparedCase open(cases_[i], preparation_, options_);
    if (made_from_[i].empty()) {
      throw ResourceError("[prepare volumes] case " + detail::quoted(cases_[i].name) +
                          ": its files must all be there, to be read and listed, from the start "
                          "on; look at their permissions, and run it again");
    }
    int threads = each_;
    while (threads > 1 && open.least_bytes(threads) > options_.memory)
      threads /= 2;
    const std::size_t least = open.least_bytes(threads);
    if (least > options_.memory) {
      throw ResourceError("[prepare volumes] case " + detail::quoted(cases_[i].name) + ": needs " +
                          std::to_string(least) + " bytes at a time, memory allows " +
                          std::to_string(options_.memory) +
                          "; give more, or store the case in smaller blocks (unpacked .nii)");
    }
    const std::size_t part =
        options_.memory / static_cast<std::size_t>(std::max(options_.threads / each_, 1));
    const std::size_t bytes = std::max(least, std::min(open.enough_bytes(threads), part));
    {
      const detail::SharedBytes::Loan loan(memory_, bytes);
      prepared_[i] = open.prepare(made_from_[i], bytes, threads);
    }
    if (!prepared_[i]) return;
    const std::lock_guard lock(mutex_);
    ++done_;
    report();
  }

  void report() const {
    if (options_.on_progress)
      options_.on_progress(done_, kept_, static_cast<std::int64_t>(cases_.size()));
  }

  const std::vector<NnUNetCase>& cases_;
  const VolumePreparation& preparation_;
  const PrepareOptions& options_;
  detail::SharedBytes memory_;
  std::vector<std::string> made_from_;
  std::vector<std::optional<PreparedCase>> prepared_;
  std::vector<std::size_t> left_;  // numbers of cases that are not prepared
  int each_ = 1;                   // threads of a case
  std::mutex mutex_;
  std::int64_t done_ = 0;
  std::int64_t kept_ = 0;
};

}  // namespace

std::vector<PreparedCase> prepare_cases(const std::vector<NnUNetCase>& cases,
                                        const VolumePreparation& preparation,
                                        const PrepareOptions& options) {
  check(preparation);
  check(options);
  check(cases, preparation);
  make_folder(options.folder);
  return PreparationRun(cases, preparation, options).prepare();
}

}  // namespace headrace::inline v1
