#include <headrace/apps/feed/hdf5_text.h>
#include <headrace/apps/jobs/leak/file.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/leak/write_file.h>
#include <headrace/augment/spectrogram/log_mel.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t block_recordings = 64;

LogMelOptions mel_options(DType dtype) {
  return {.sample_rate = leak_sample_rate, .dtype = dtype};
}

/// Sums over the cells of one recording, taken before they are rounded to half precision.
struct Sums {
  double values = 0.0;
  double squares = 0.0;
  std::int64_t cells = 0;
};

/// Recordings that are made before they are written.
class Block {
 public:
  explicit Block(std::int64_t rows)
      : waves_(Tensor::zeros(DType::int16, {rows, leak_longs, leak_shorts, leak_short_samples})),
        sums_(static_cast<std::size_t>(rows)) {
    Sample sample = spectrogram_of(0, half_);
    const Shape& one = sample["spectrogram"].shape();
    mels_ = Tensor::empty(DType::float16, one.batched(rows));
  }

  void fill(const LeakBackgrounds& backgrounds, std::int64_t first, std::int64_t count,
            bool measure, int threads) {
    std::atomic<std::int64_t> next{0};
    const auto work = [&] {
      for (std::int64_t k = next++; k < count; k = next++)
        make(backgrounds, first + k, k, measure);
    };
    std::vector<std::jthread> helpers;
    for (int i = 1; i < threads; ++i)
      helpers.emplace_back(work);
    work();
  }

  const Tensor& waves() const { return waves_; }
  const Tensor& mels() const { return mels_; }
  const Sums& sums(std::int64_t row) const { return sums_[static_cast<std::size_t>(row)]; }

 private:
  Sample spectrogram_of(std::int64_t row, const LogMel& op) const {
    Sample sample;
    sample.set("waveform", waves_.row(row));
    op(sample);
    return sample;
  }

  void make(const LeakBackgrounds& backgrounds, std::int64_t recording, std::int64_t row,
            bool measure) {
    backgrounds.make(recording, waves_.row(row).values<std::int16_t>());
    const Sample sample = spectrogram_of(row, half_);
    const Tensor& mel = sample["spectrogram"];
    std::memcpy(mels_.row(row).raw(), mel.raw(), mel.bytes());
    if (!measure) return;
    Sums& sums = sums_[static_cast<std::size_t>(row)] = {};
    const Sample full = spectrogram_of(row, single_);
    for (const float value : full["spectrogram"].values<float>()) {
      sums.values += double{value};
      sums.squares += double{value} * value;
      ++sums.cells;
    }
  }

  LogMel half_{mel_options(DType::float16)};
  LogMel single_{mel_options(DType::float32)};
  Tensor waves_;
  Tensor mels_;
  std::vector<Sums> sums_;
};

Tensor labels_of(std::int64_t recordings) {
  const auto number = [](std::string_view name) {
    const auto found = std::find(leak_label_names.begin(), leak_label_names.end(), name);
    return static_cast<std::int16_t>(found - leak_label_names.begin());
  };
  Tensor labels = Tensor::empty(DType::int16, {recordings});
  for (std::int64_t i = 0; i < recordings; ++i) {
    labels.data<std::int16_t>()[i] =
        number(LeakBackgrounds::has_leak(i) ? leak_label : std::string_view("NORMAL"));
  }
  return labels;
}

std::string config_json(const LeakStatistics& statistics) {
  const LogMelOptions mel = mel_options(DType::float16);
  const nlohmann::ordered_json json{{"sample_rate", leak_sample_rate},
                                    {"long_window", leak_shorts * leak_short_samples},
                                    {"short_window", leak_short_samples},
                                    {"n_fft", mel.transform},
                                    {"hop_length", mel.hop},
                                    {"n_mels", mel.bins},
                                    {"power", mel.power},
                                    {"mean_db", statistics.mean},
                                    {"std_db", statistics.deviation}};
  return json.dump();
}

std::string labels_json() {
  nlohmann::json names = nlohmann::json::array();
  for (const std::string_view name : leak_label_names)
    names.push_back(name);
  return names.dump();
}

LeakStatistics statistics_of(const Sums& sums) {
  const auto cells = static_cast<double>(sums.cells);
  const double mean = sums.values / cells;
  return {mean, std::sqrt(std::max(1e-6, sums.squares / cells - mean * mean))};
}

}  // namespace

void write_leak_file(const LeakBackgrounds& backgrounds, const WriteLeakOptions& options) {
  const std::int64_t all = options.recordings;
  Block block(std::min(all, block_recordings));
  Hdf5Writer writer(options.file);
  writer.add(leak_mel_dataset, DType::float16, all, block.mels().shape().row());
  if (options.waveforms) {
    writer.add(leak_waveform_dataset, DType::int16, all, block.waves().shape().row());
  }
  writer.add(leak_label_dataset, DType::int16, all, {});
  writer.append(leak_label_dataset, labels_of(all));

  Sums total;
  for (std::int64_t first = 0; first < all; first += block_recordings) {
    const std::int64_t count = std::min(block_recordings, all - first);
    block.fill(backgrounds, first, count, options.measure, options.threads);
    writer.append(leak_mel_dataset, block.mels().rows(0, count));
    if (options.waveforms) writer.append(leak_waveform_dataset, block.waves().rows(0, count));
    for (std::int64_t row = 0; options.measure && row < count; ++row) {
      total.values += block.sums(row).values;
      total.squares += block.sums(row).squares;
      total.cells += block.sums(row).cells;
    }
    if (options.progress) options.progress(first + count, all);
  }
  if (options.measure) *options.training = statistics_of(total);
  writer.attribute("labels_json", labels_json());
  writer.attribute("config_json", config_json(*options.training));
  writer.attribute("recipe", options.recipe);
  writer.finish();
}

bool has_leak_file(const std::filesystem::path& file, const std::string& recipe) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  try {
    return read_hdf5_text(file, "recipe") == recipe && !read_leak_file(file).labels.empty();
  } catch (const Error&) {
    return false;  // damaged, or something else altogether: made anew
  }
}

}  // namespace headrace::inline v1::app
