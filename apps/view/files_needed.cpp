#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/view/files_needed.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/loaders/volume/plain_volumes.h>

#include <string_view>

namespace headrace::inline v1::app {
namespace {

// Logs, metrics, events, a checkpoint and its folder, a look at a process, pipes of the program's.
constexpr std::uint64_t of_a_run = 16;
// A table or a pack as it is planned and as it is read, its copy on a stage, HDF5's helper.
constexpr std::uint64_t of_a_set = 4;
// NVIDIA's driver and CUDA: some for each card of the machine and each context.
constexpr std::uint64_t of_a_gpu = 64;
// A file and its folder.
constexpr std::uint64_t of_a_read = 2;
// A case that is prepared: channels, label, and what is written of them.
constexpr std::uint64_t of_a_preparation = 8;
constexpr std::uint64_t of_a_case = 2;  // image and label

std::uint64_t read_at_once(int loader_threads, int io_threads) {
  const int workers = loader_threads > 0 ? loader_threads : usable_cores();
  const int io = io_threads > 0 ? io_threads : default_io_threads;
  return of_a_read * static_cast<std::uint64_t>(workers + io);
}

std::uint64_t cases_in(const std::filesystem::path& folder, bool follow_links) {
  if (folder.empty()) return 0;
  try {
    if (is_nnunet_raw(folder)) return read_nnunet_raw(folder, follow_links).cases.size();
    const auto plain = plain_volumes_in(folder);
    return plain ? list_plain_volumes(*plain, /*all_labelled=*/false).size() : 0;
  } catch (const Error&) {
    return 0;
  } catch (const std::filesystem::filesystem_error&) {
    return 0;
  }
}

std::uint64_t kept_of_volumes(const TaskData& data, int threads) {
  std::uint64_t cases = 0;
  for (const DataSet* set : {&data.train, &data.validation, &data.test})
    cases += cases_in(set->folder, data.follow_links);
  const int workers = threads > 0 ? threads : usable_cores();
  return of_a_case * cases + of_a_preparation * static_cast<std::uint64_t>(workers);
}

}  // namespace

std::uint64_t files_needed(const JobConfig& config, bool on_gpu) {
  constexpr std::uint64_t sets = 3;  // to train on, to validate with, to test with
  std::uint64_t files = of_a_run + sets * of_a_set + (on_gpu ? of_a_gpu : 0) +
                        read_at_once(config.threads.loader, config.threads.io);
  const auto* task = dynamic_cast<const TaskConfig*>(&config);
  if (task != nullptr && holds_volumes(task->task.data))
    files += kept_of_volumes(task->task.data, config.threads.loader);
  return files;
}

std::uint64_t files_needed(const LoaderJob& job) {
  return of_a_run + of_a_set + read_at_once(job.runtime.threads, job.runtime.io_threads);
}

std::uint64_t slab_bytes(const Loader& loader) {
  constexpr std::string_view slabs = " slabs";
  std::uint64_t bytes = 0;
  for (const MemoryForecast::Item& item : loader.forecast().items)
    if (item.name.ends_with(slabs)) bytes += item.bytes;
  return bytes;
}

}  // namespace headrace::inline v1::app
