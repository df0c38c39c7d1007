#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/hdf5/detail/helper/helper_messages.h>
#include <headrace/loaders/hdf5/detail/helper/shared_window.h>
#include <headrace/loaders/hdf5/detail/library/library_budget.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <fstream>
#include <map>
#include <new>
#include <utility>

#include <H5Cpp.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

bool receive(int socket, void* to, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send(int socket, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

/// What RLIMIT_DATA counts of this process.
std::size_t held_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  for (int column = 0; column < 6; ++column)
    if (!(statm >> pages)) return std::size_t{64} << 20;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void lower(int resource, rlim_t limit) {
  rlimit both{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &both) != 0) return;
  both.rlim_cur = std::min(limit, both.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

/// The other side watches the time; this is for when there is no other side any more.
void set_limits(const HelperHeader& call) {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  lower(RLIMIT_CPU, static_cast<rlim_t>(used.tv_sec) + 2 * (call.cpu_ms / 1000) + 2);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they take terabytes
  lower(RLIMIT_DATA, held_bytes() + call.memory);
#endif
}

void raise(int resource, rlim_t by) {
  rlimit both{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &both) != 0) return;
  if (both.rlim_cur == RLIM_INFINITY) return;
  both.rlim_cur = std::min(both.rlim_cur + by, both.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

int the_socket = -1;

/// The library's work that nobody could know of before, see expect_work().
void take_longer(std::size_t work, std::size_t memory) {
  const auto cpu_ms = static_cast<std::uint32_t>(
      std::min<std::size_t>(work / work_bytes_per_ms, std::size_t{3'600'000}));
  raise(RLIMIT_CPU, 2 * (cpu_ms / 1000) + 1);
  raise(RLIMIT_DATA, memory);
  const HelperHeader more{.kind = static_cast<std::uint32_t>(HelperAnswer::more), .cpu_ms = cpu_ms};
  send(the_socket, &more, sizeof more);
}

class Server {
 public:
  explicit Server(const HelperDescriptors& descriptors)
      : descriptors_(descriptors), window_(FileDescriptor(descriptors.window)) {}

  /// What is to be answered. Throws what the call throws.
  WireWriter answer(HelperCall call, WireReader& message) {
    WireWriter answer;
    switch (call) {
      case HelperCall::open:
        open(message);
        break;
      case HelperCall::datasets_in:
        answer.texts(library_->datasets_in(message.text()));
        break;
      case HelperCall::all_datasets:
        answer.texts(library_->all_datasets());
        break;
      case HelperCall::describe:
        describe(message, answer);
        break;
      case HelperCall::save_indexes:
        answer.text(library_->save_indexes());
        break;
      case HelperCall::attributes: {
        AttributeRequest request{.names = message.texts(), .objects = message.texts()};
        put(answer, library_->attributes(request));
        break;
      }
      case HelperCall::open_reader:
        open_reader(message);
        break;
      case HelperCall::close_reader:
        readers_.erase(message.value<std::uint64_t>());
        break;
      case HelperCall::read_rows:
        read_rows(message);
        break;
      case HelperCall::read_places:
        read_places(message);
        break;
    }
    return answer;
  }

 private:
  struct OpenedReader {
    const Hdf5Dataset& dataset;
    std::unique_ptr<LibraryReader> reader;
  };

  void open(WireReader& message) {
    const std::string path = message.text();
    const auto named = message.value<DataFile::Times>();
    const auto opened = message.value<DataFile::Times>();
    const std::string stage = message.text();
    const bool keep_index = message.flag();
    const DataFile::Handed handed{
        .descriptor = descriptors_.data, .named = named, .opened = opened};
    file_ = std::make_shared<const Hdf5File>(path, handed, Stage{.folder = stage});
    library_ = direct_library(file_, keep_index);
  }

  void describe(WireReader& message, WireWriter& answer) {
    Hdf5Dataset dataset = library_->describe(take_request(message));
    put(answer, dataset);
    answer.list(file_->source_times());  // so that others in their place are noticed
    dataset.chunks.reset();              // rows of these are read on the other side
    described_.push_back(std::move(dataset));
  }

  void open_reader(WireReader& message) {
    const auto number = message.value<std::uint64_t>();
    const Hdf5Dataset& dataset = described_.at(message.value<std::uint64_t>());
    readers_.emplace(
        number, OpenedReader{dataset, library_->reader(dataset, message.value<std::uint64_t>())});
  }

  void read_rows(WireReader& message) {
    const auto& [dataset, reader] = readers_.at(message.value<std::uint64_t>());
    const auto indices = message.list<std::int64_t>();
    std::byte* to = window_.map(indices.size() * dataset.row_bytes);
    std::vector<SortedRow> rows;
    for (const std::int64_t index : indices) {
      rows.push_back({index, to});
      to += dataset.row_bytes;
    }
    reader->read(rows);
  }

  void read_places(WireReader& message) {
    const auto& [dataset, reader] = readers_.at(message.value<std::uint64_t>());
    const auto first = message.value<std::int64_t>();
    const auto count = message.value<std::int64_t>();
    reader->read_places(
        first, count,
        window_.map(static_cast<std::size_t>(count * dataset.inner_rows()) * dataset.row_bytes));
  }

  HelperDescriptors descriptors_;
  SharedWindow window_;
  std::shared_ptr<const Hdf5File> file_;
  std::shared_ptr<LibraryAccess> library_;
  std::deque<Hdf5Dataset> described_;
  std::map<std::uint64_t, OpenedReader> readers_;
};

struct Answer {
  HelperAnswer kind = HelperAnswer::done;
  std::vector<std::byte> bytes{};
};

Answer refusal(HelperAnswer kind, const char* what) {
  const auto text = std::as_bytes(std::span(what, std::strlen(what)));
  return {kind, {text.begin(), text.end()}};
}

Answer answer_to(Server& server, HelperCall call, const std::vector<std::byte>& message) {
  try {
    WireReader reader(message);
    return {HelperAnswer::done, server.answer(call, reader).message};
  } catch (const ConfigError& error) {
    return refusal(HelperAnswer::config_error, error.what());
  } catch (const ResourceError& error) {
    return refusal(HelperAnswer::resource_error, error.what());
  } catch (const PipelineError& error) {
    return refusal(HelperAnswer::pipeline_error, error.what());
  } catch (const std::bad_alloc&) {
    return refusal(HelperAnswer::resource_error, "[hdf5] there is not enough memory");
  } catch (const std::exception& error) {
    return refusal(HelperAnswer::data_error, error.what());
  }
}

/// The helper's side: answers until the other side closes the socket. Returns the exit status.
int serve_helper(const HelperDescriptors& descriptors) {
  Server server(descriptors);
  the_socket = descriptors.socket;
  set_budget_hook(&take_longer);
  HelperHeader call;
  while (receive(descriptors.socket, &call, sizeof call)) {
    set_limits(call);
    std::vector<std::byte> message(call.bytes);
    if (!receive(descriptors.socket, message.data(), message.size())) break;
    const Answer answer = answer_to(server, static_cast<HelperCall>(call.kind), message);
    const HelperHeader header{.kind = static_cast<std::uint32_t>(answer.kind),
                              .bytes = answer.bytes.size()};
    if (!send(descriptors.socket, &header, sizeof header) ||
        !send(descriptors.socket, answer.bytes.data(), answer.bytes.size()))
      break;
  }
  return 0;
}

}  // namespace

}  // namespace headrace::inline v1::detail

namespace {

/// If memory is short on the machine, this is what the system shall end.
void offer_to_be_ended() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const auto written = ::write(file, "1000", 4);
  ::close(file);
}

}  // namespace

/// headrace-hdf5 <socket> <data> <window>: what the HDF5 library does for another process, see
/// headrace::use_hdf5_helper(). Nobody starts it by hand.
int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("headrace-hdf5 is started by headrace when it reads HDF5 files\n", stderr);
    return 2;
  }
  // The library's thread has a stack of its own, which counts, whatever the shell's limit.
  pthread_attr_t usual;
  pthread_attr_init(&usual);
  pthread_attr_setstacksize(&usual, std::size_t{8} << 20);
  pthread_setattr_default_np(&usual);
  const headrace::detail::HelperDescriptors descriptors{
      .socket = std::atoi(argv[1]), .data = std::atoi(argv[2]), .window = std::atoi(argv[3])};
  const rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(SIGXFSZ, SIG_IGN);  // then an index is not kept, and the log says why
  offer_to_be_ended();
  H5PLset_loading_state(0);  // a filter of the file's own structures may name a plugin too
  return headrace::detail::serve_helper(descriptors);
}
