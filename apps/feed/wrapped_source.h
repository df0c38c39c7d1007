#pragma once

#include <headrace/engine/sample/source.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

namespace headrace::inline v1::app {

/// A source that is another one, but for what a class derived from it changes.
class WrappedSource : public Source {
 public:
  explicit WrappedSource(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  std::string name() const override { return source_->name(); }
  std::int64_t size() const override { return source_->size(); }
  Schema fields() const override { return source_->fields(); }
  void read(std::int64_t index, Sample& sample) const override { source_->read(index, sample); }
  bool blocking() const override { return source_->blocking(); }
  bool gathers() const override { return source_->gathers(); }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override {
    source_->gather(indices, rows);
  }
  std::int64_t preferred_rows() const override { return source_->preferred_rows(); }
  std::size_t working_bytes(std::int64_t index) const override {
    return source_->working_bytes(index);
  }
  std::size_t largest_working_bytes() const override { return source_->largest_working_bytes(); }
  std::size_t resident_bytes() const override { return source_->resident_bytes(); }
  std::string origin(std::int64_t index) const override { return source_->origin(index); }
  std::int64_t part(std::int64_t index) const override { return source_->part(index); }

 protected:
  const Source& source() const { return *source_; }

 private:
  std::shared_ptr<const Source> source_;
};

}  // namespace headrace::inline v1::app
