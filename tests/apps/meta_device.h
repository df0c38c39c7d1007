#pragma once

#include <headrace/engine/batch/batch.h>
#include <headrace/models/networks/network.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// LibTorch's device `meta` as a GPU that cannot be waited for: tensors have shapes and no values,
// so whatever would read one on the host throws. meta_device.cpp gives it the shapes of those
// operations of our networks that have none there.
namespace headrace::test {

/// A network on `meta`; `lowered` gives it mixed precision, which LibTorch does not have there.
class MetaNetwork final : public models::Network {
 public:
  MetaNetwork(std::unique_ptr<models::Network> network, bool lowered);

  at::Tensor forward(const at::Tensor& input) override;
  models::Output outputs(const at::Tensor& input) override;
  models::NamedTensors parameters() const override { return network_->parameters(); }
  models::NamedTensors buffers() const override { return network_->buffers(); }
  void set_training(bool on) override { network_->set_training(on); }
  bool is_training() const override { return network_->is_training(); }
  void freeze_norms(bool on) override { network_->freeze_norms(on); }
  std::vector<std::string> blocks() const override { return network_->blocks(); }
  void checkpoint(const std::vector<std::string>& patterns) override {
    network_->checkpoint(patterns);
  }
  void move_to(at::Device device, bool channels_last) override {
    network_->move_to(device, channels_last);
  }

 private:
  std::unique_ptr<models::Network> network_;
  bool lowered_;
};

/// Lists copies from the host to a device that the calling thread makes while this lives. One at a
/// time.
class HostCopies {
 public:
  HostCopies();
  ~HostCopies();
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  /// Copies from this batch's memory are asked for.
  void allow(const Batch& batch);
  const std::vector<std::string>& found() const { return found_; }
  /// Copies that were asked for.
  int allowed() const { return allowed_; }
  /// For the callback.
  void saw(const at::Tensor& to, const at::Tensor& from);

 private:
  std::uint64_t handle_;
  std::vector<std::pair<const std::byte*, const std::byte*>> batch_;
  std::vector<std::string> found_;
  int allowed_ = 0;
};

}  // namespace headrace::test
