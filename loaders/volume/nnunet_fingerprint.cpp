#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/volume/detail/case/case_fingerprint.h>
#include <headrace/loaders/volume/detail/case/shared_bytes.h>
#include <headrace/loaders/volume/nnunet_fingerprint.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace headrace::inline v1 {
namespace {

constexpr std::int64_t least_values = 1000;  // of a case

void check(const NnUNetRaw& raw, const NnUNetFingerprintOptions& options) {
  const auto refuse = [](const std::string& rule) {
    throw ConfigError("[nnU-Net fingerprint] " + rule);
  };
  if (raw.cases.empty() || raw.channels.empty())
    refuse("the data set must have a case and a channel");
  if (options.threads < 0)
    refuse("threads must not be negative, got " + std::to_string(options.threads));
  if (options.most_values < 1)
    refuse("most_values must be at least 1, got " + std::to_string(options.most_values));
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

NnUNetFingerprint merged(std::vector<detail::CaseFingerprint>& cases, const NnUNetRaw& raw) {
  NnUNetFingerprint made;
  made.cases_with_value.resize(raw.values().size());
  std::vector<double> relative_sizes;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const detail::CaseFingerprint& one = cases[i];
    if (!one.placed_together) made.displaced.push_back(raw.cases[i].name);
    made.shapes.push_back(one.shape);
    made.spacings.push_back(one.spacing);
    relative_sizes.push_back(one.relative_size);
    for (std::size_t value = 0; value < one.has_value.size(); ++value)
      made.cases_with_value[value] += one.has_value[value] ? 1 : 0;
  }
  made.median_relative_size_after_cropping = median_of(std::move(relative_sizes));
  for (std::size_t channel = 0; channel < raw.channels.size(); ++channel) {
    std::vector<detail::ForegroundFigures*> figures;
    for (detail::CaseFingerprint& one : cases)
      if (one.channels[channel].count > 0) figures.push_back(&one.channels[channel]);
    if (figures.empty()) {
      throw DataError("[nnU-Net fingerprint] " + detail::printable(raw.folder.native()) +
                      ": a label must have foreground, values above 0, in some case, got none in " +
                      std::to_string(cases.size()) + "; are these the right labels?");
    }
    made.intensity.push_back(detail::intensity_of(figures));
  }
  return made;
}

}  // namespace

NnUNetFingerprint nnunet_fingerprint(const NnUNetRaw& raw,
                                     const NnUNetFingerprintOptions& options) {
  check(raw, options);
  const auto count = static_cast<std::int64_t>(raw.cases.size());
  const auto most = static_cast<std::size_t>(std::max(least_values, options.most_values / count));
  const std::size_t values = raw.values().size();
  std::vector<detail::CaseFingerprint> cases(raw.cases.size());
  detail::SharedBytes memory(options.memory);
  std::mutex mutex;
  std::int64_t done = 0;
  const auto look_at = [&](std::size_t i) {
    const detail::OpenCase open(raw.cases[i]);
    if (open.bytes() > options.memory) {
      throw ResourceError("[nnU-Net fingerprint] case " + detail::quoted(raw.cases[i].name) +
                          ": needs " + std::to_string(open.bytes()) +
                          " bytes at a time, memory allows " + std::to_string(options.memory) +
                          "; give more, or store the case in smaller blocks (unpacked .nii)");
    }
    {
      const detail::SharedBytes::Loan loan(memory, open.bytes());
      cases[i] = open.look(values, most, i << 16);
    }
    const std::lock_guard lock(mutex);
    ++done;
    if (options.on_progress) options.on_progress(done, count);
  };
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  detail::in_parallel(raw.cases.size(), static_cast<std::size_t>(threads),
                      [&look_at] { return [&look_at](std::size_t i) { look_at(i); }; });
  return merged(cases, raw);
}

}  // namespace headrace::inline v1
