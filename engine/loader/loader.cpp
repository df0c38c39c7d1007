#include <headrace/engine/loader/detail/loader_core.h>
#include <headrace/engine/loader/loader.h>

#include <utility>

namespace headrace::inline v1 {

Epoch::Epoch(Epoch&& other) noexcept
    : core_(std::move(other.core_)),
      run_(std::move(other.run_)),
      batch_(std::move(other.batch_)),
      begun_(other.begun_),
      ended_(other.ended_) {}

Epoch::~Epoch() {
  batch_ = Batch();
  if (core_ && !ended_) core_->leave(run_.get());
}

Epoch::Iterator Epoch::begin() {
  if (!begun_) advance();
  begun_ = true;
  return Iterator(this);
}

void Epoch::advance() {
  batch_ = Batch();
  ended_ = ended_ || !core_->consumes(run_.get());
  if (ended_) return;
  try {
    NextBatch got = core_->next(std::chrono::nanoseconds::max(), {});
    ended_ = got.status == NextBatch::Status::end;
    batch_ = std::move(got.batch);
  } catch (...) {
    ended_ = !core_->consumes(run_.get());
    throw;
  }
}

Loader::Loader(std::shared_ptr<detail::LoaderCore> core) : core_(std::move(core)) {}
Loader::Loader(Loader&&) noexcept = default;

Loader& Loader::operator=(Loader&& other) noexcept {
  if (this == &other) return *this;
  if (core_) core_->shut_down();
  core_ = std::move(other.core_);
  return *this;
}

Loader::~Loader() {
  if (core_) core_->shut_down();
}

Epoch Loader::epoch(std::int64_t epoch, Stream stream) {
  Epoch range(core_);
  range.run_ = core_->start(epoch, stream);
  return range;
}

NextBatch Loader::next(std::chrono::nanoseconds timeout, std::stop_token stop) {
  const auto core = core_;
  return core->next(timeout, std::move(stop));
}

std::optional<Batch> Loader::try_next() {
  return core_->try_next();
}
void Loader::seek(const Position& position) {
  core_->seek(position);
}
Position Loader::position() const {
  return core_->position();
}
const Schema& Loader::schema() const {
  return core_->plan().schema;
}
std::int64_t Loader::batches_per_epoch() const {
  return core_->plan().batches();
}
std::int64_t Loader::samples_per_epoch() const {
  return core_->plan().order_length;
}
MemoryForecast Loader::forecast() const {
  return core_->forecast();
}
LoaderStats Loader::stats() const {
  return core_->stats();
}
void Loader::reset_stats() {
  core_->reset_stats();
}
std::string Loader::describe(Format format) const {
  return core_->plan().describe(format);
}

}  // namespace headrace::inline v1
