#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/leak/statistics.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/tensor/half_floats.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;
fs::path kept_path(const fs::path& file) {
  return file.string() + ".headrace-statistics";
}

/// What kept figures must agree with; null for a file that is not there.
nlohmann::json identity_of(const fs::path& file) {
  std::error_code none;
  if (!fs::is_regular_file(file, none)) return nullptr;
  const headrace::detail::FileStamp stamp = headrace::detail::file_stamp(file);
  return {{"bytes", stamp.bytes},
          {"changed_ns", stamp.modified_ns},
          {"sample", headrace::detail::content_sample(file)}};
}

std::optional<LeakStatistics> read_kept(const fs::path& file, const nlohmann::json& identity) {
  std::error_code none;
  if (!fs::is_regular_file(kept_path(file), none)) return std::nullopt;
  std::array<char, 1024> text{};
  std::ifstream stream(kept_path(file));
  stream.read(text.data(), text.size());
  const nlohmann::json kept =
      nlohmann::json::parse(text.data(), text.data() + stream.gcount(), nullptr, false);
  const auto number = [&kept](const char* name) {
    const auto found = kept.find(name);
    return found != kept.end() && found->is_number() ? found->get<double>() : std::nan("");
  };
  if (!kept.is_object() || kept.value("file", nlohmann::json()) != identity) return std::nullopt;
  const LeakStatistics statistics{number("mean_db"), number("std_db")};
  const bool usable = std::isfinite(statistics.mean) && std::isfinite(statistics.deviation) &&
                      statistics.deviation > 0.0;
  return usable ? std::optional(statistics) : std::nullopt;
}

/// Keeps the figures for the next time and says so, or why not.
std::string keep(const fs::path& file, const nlohmann::json& identity,
                 const LeakStatistics& statistics) {
  if (identity_of(file) != identity) return "not kept: the file was changed meanwhile";
  const nlohmann::json kept{
      {"file", identity}, {"mean_db", statistics.mean}, {"std_db", statistics.deviation}};
  try {
    write_file_atomically(kept_path(file), kept.dump() + "\n");
  } catch (const Error& error) {
    return std::string("not kept, so the next start computes them again: ") + error.what();
  }
  return "kept in " + kept_path(file).string();
}

/// How many cells have each of the 65,536 half-precision values.
class Histogram {
 public:
  void add(const Tensor& recording, std::int64_t number, const fs::path& file) {
    for (const float16_t cell : recording.values<float16_t>()) {
      if ((cell.bits & 0x7c00U) == 0x7c00U) {
        throw DataError(fmt::format(
            "[leak] {}: cells of segments_mel must be numbers, got {} in recording {}; correct it "
            "or leave it out",
            file.string(), to_float(cell), number));
      }
      ++counts_[cell.bits];
    }
  }

  LeakStatistics statistics() const {
    double cells = 0.0;
    double sum = 0.0;
    each([&](double value, double count) {
      cells += count;
      sum += count * value;
    });
    const double mean = sum / cells;
    double squares = 0.0;
    each([&](double value, double count) { squares += count * (value - mean) * (value - mean); });
    return {mean, std::sqrt(std::max(1e-6, squares / cells))};
  }

 private:
  template <class Use>
  void each(const Use& use) const {
    for (std::size_t bits = 0; bits < counts_.size(); ++bits) {
      if (counts_[bits] == 0) continue;
      use(double{to_float(float16_t{static_cast<std::uint16_t>(bits)})},
          static_cast<double>(counts_[bits]));
    }
  }

  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(1U << 16);
};

}  // namespace

LeakStatistics leak_statistics(const fs::path& file) {
  const nlohmann::json identity = identity_of(file);
  if (const std::optional<LeakStatistics> kept = read_kept(file, identity)) return *kept;
  const auto start = std::chrono::steady_clock::now();
  const Hdf5Table table({.file = file,
                         .fields = {{.name = "mel", .dataset = leak_mel_dataset}},
                         .memory = 256_MiB,
                         .residence = Residence::file});
  Histogram histogram;
  Sample sample;
  for (std::int64_t i = 0; i < table.size(); ++i) {
    sample.reset();
    table.read(i, sample);
    histogram.add(sample["mel"], i, file);
  }
  const LeakStatistics statistics = histogram.statistics();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  log_table(LogLevel::warning,
            fmt::format("[leak] {} has no mean_db and std_db: {:.3f} and {:.3f} dB computed from "
                        "its {} recordings in {}; {}",
                        file.string(), statistics.mean, statistics.deviation, table.size(),
                        monitor::format_seconds(took.count()), keep(file, identity, statistics)));
  return statistics;
}

}  // namespace headrace::inline v1::app
