#pragma once

#include <headrace/engine/loader/loader.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/monitor/advice/run_facts.h>
#include <headrace/monitor/advice/verdict.h>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace headrace::inline v1::app {

/// How to drive a loader without a model.
struct LoaderTrialOptions {
  double step_s = 0.0;   ///< the consumer holds each batch for so long; 0: takes them as they come
  double delay_s = 0.0;  ///< slowness planted on top of the step
  int epochs = 1;
  std::int64_t batches = 0;   ///< stop after so many; 0: whole epochs
  std::int64_t warmup = 10;   ///< batches before the measured window, at most a quarter of all
  std::stop_token stop = {};  ///< ends the trial after the batch at hand
};

/// What was measured. The window begins after the warm-up.
struct LoaderTrial {
  Device device{};             ///< where batches came to
  double first_batch_s = 0.0;  ///< from the request to the first batch
  double elapsed_s = 0.0;      ///< of the window
  std::int64_t batches = 0;
  std::int64_t samples = 0;
  std::int64_t bytes = 0;
  double wait_s = 0.0;      ///< of the consumer, in the window
  double wait_share = 0.0;  ///< wait_s / elapsed_s
  std::int64_t warmup_batches = 0;
  LoaderStats stats;                         ///< of the window
  std::size_t forecast_bytes = 0;            ///< of the loader, its source included
  std::size_t source_bytes = 0;              ///< of these, data kept in memory
  std::int64_t peak_bytes = 0;               ///< most that slabs and samples took; the whole trial
  std::uint64_t process_forecast_bytes = 0;  ///< given by the caller,
  std::uint64_t process_peak_bytes = 0;      ///< likewise
  std::string device_why{};                  ///< likewise: why there, "as configured"
  monitor::Verdict verdict;
  /// Out of chunks, of the window; nothing where none was unpacked.
  std::optional<monitor::ReadFacts> reads{};

  double samples_per_s() const {
    return elapsed_s > 0.0 ? static_cast<double>(samples) / elapsed_s : 0.0;
  }
  double bytes_per_s() const {
    return elapsed_s > 0.0 ? static_cast<double>(bytes) / elapsed_s : 0.0;
  }
};

/// Runs the loader from the beginning of epoch 0 with a consumer of the given pace, and judges it.
/// Throws what the loader throws.
LoaderTrial run_loader_trial(Loader& loader, const LoaderTrialOptions& options);

/// The measurement as a JSON document for machines, with the name of the configuration.
std::string to_json(const LoaderTrial& trial, const LoaderTrialOptions& options,
                    const std::string& configuration);

/// A loader trial for a person: rates, first batch, memory against the forecast, the consumer's
/// wait, a line for each stage, and the verdict. Ends with a line break.
std::string loader_report(const LoaderTrial& trial, const LoaderTrialOptions& options);

}  // namespace headrace::inline v1::app
