#include "process_state.h"

#include <algorithm>
#include <atomic>
#include <clocale>
#include <csignal>
#include <exception>
#include <fenv.h>
#include <filesystem>
#include <locale>
#include <new>
#include <sstream>

#include <oneapi/tbb/global_control.h>

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef WATCH_OPENCV
#include <opencv2/core/utility.hpp>
#endif
#ifdef WATCH_SPDLOG
#include <spdlog/spdlog.h>
#endif

namespace {

std::atomic<int> mallopt_calls{0};

}  // namespace

// malloc's options can be set and not asked for, so their setter is watched: this definition comes
// before the C library's for every library of the process.
extern "C" int mallopt(int option, int value) noexcept {
  ++mallopt_calls;
  using Setter = int (*)(int, int);
  const auto real = reinterpret_cast<Setter>(dlsym(RTLD_NEXT, "mallopt"));
  return real == nullptr ? 0 : real(option, value);
}

namespace embed {
namespace {

template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << value;
  return out.str();
}

void add_signals(ProcessState& state) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    state["signal " + text(number)] =
        text(reinterpret_cast<void*>(action.sa_handler)) + " flags " + text(action.sa_flags);
  }
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int number = 1; number < NSIG; ++number)
    state["signal mask"] += text(sigismember(&mask, number));
}

void add_cxx(ProcessState& state) {
  state["terminate handler"] = text(reinterpret_cast<void*>(std::get_terminate()));
  state["new handler"] = text(reinterpret_cast<void*>(std::get_new_handler()));
  state["locale"] = std::setlocale(LC_ALL, nullptr);
  state["C++ locale"] = std::locale().name();
  state["rounding"] = text(fegetround());
  state["working directory"] = std::filesystem::current_path().string();
  state["calls of mallopt"] = text(mallopt_calls.load());
}

void add_process(ProcessState& state) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string line = *entry;
    state["environment " + line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  }
  const mode_t mask = umask(0);
  umask(mask);
  state["umask"] = text(mask);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  state["open files allowed"] = text(files.rlim_cur);
  state["priority"] = text(getpriority(PRIO_PROCESS, 0));
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) state["affinity"] += text(core) + " ";
  }
}

void add_libraries(ProcessState& state) {
  using oneapi::tbb::global_control;
  state["TBB parallelism"] =
      text(global_control::active_value(global_control::max_allowed_parallelism));
  state["TBB stack"] = text(global_control::active_value(global_control::thread_stack_size));
#ifdef WATCH_OPENCV
  state["OpenCV threads"] = text(cv::getNumThreads());
  state["OpenCV optimised"] = text(cv::useOptimized());
#endif
#ifdef WATCH_SPDLOG
  state["spdlog logger"] = text(spdlog::default_logger_raw());
  state["spdlog level"] = text(static_cast<int>(spdlog::default_logger_raw()->level()));
#endif
}

// Asked of the runtime that some library has loaded; without one there is no current device.
void add_cuda(ProcessState& state) {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12"}) {
    void* runtime = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (runtime == nullptr) continue;
    const auto device = reinterpret_cast<int (*)(int*)>(dlsym(runtime, "cudaGetDevice"));
    int current = -1;
    if (device != nullptr && device(&current) == 0) state["CUDA device"] = text(current);
    dlclose(runtime);
  }
}

}  // namespace

ProcessState process_state() {
  ProcessState state;
  add_signals(state);
  add_cxx(state);
  add_process(state);
  add_libraries(state);
  add_cuda(state);
  return state;
}

std::vector<std::string> changes(const ProcessState& before, const ProcessState& after) {
  std::vector<std::string> lines;
  const auto value = [](const ProcessState& state, const std::string& name) {
    const auto found = state.find(name);
    return found == state.end() ? std::string("absent") : found->second;
  };
  ProcessState names = before;
  names.insert(after.begin(), after.end());
  for (const auto& [name, ignored] : names) {
    const std::string was = value(before, name);
    const std::string is = value(after, name);
    if (was != is) lines.push_back(name + ": was " + was + ", is " + is);
  }
  return lines;
}

}  // namespace embed
