#pragma once

#include <headrace/engine/device/internal/batch_memory.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/engine/device/internal/returns.h>
#include <headrace/engine/stats/stats.h>
#include <headrace/engine/stats/trace.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// When a batch was copied and waited for. A trainer's thread runs ahead of its stream, so these
/// are read some batches later.
struct TransferTimes {
  DeviceEvent begun;           ///< its copy starts
  DeviceEvent copied;          ///< and is done
  DeviceEvent asked;           ///< the trainer's stream came to wait for it
  DeviceEvent granted;         ///< and went on
  std::int64_t issued_ns = 0;  ///< the host queued it
};

/// Device memory of one batch, at an address that never changes: a twin of a slab, with room for
/// what batch operations make. Its events say when it may be read, and when it may be overwritten.
struct DeviceSlot : BatchMemory {
  DeviceEvent copied;                 ///< its copy is done
  DeviceEvent ready;                  ///< the batch operations are done
  std::vector<DeviceEvent> released;  ///< streams of the last loan are past their use
  std::size_t releases = 0;           ///< of `released`, those that count
  bool used = false;                  ///< once: `ready` was recorded
  bool unknown = false;               ///< when it may be overwritten: nobody knows
  TransferTimes* times = nullptr;     ///< of this batch, where it is timed
};

/// The device side of a loader: a ring of device slots, a stream for copies, one for batch
/// operations and one on which slabs are called back. Streams wait for each other's events; a
/// thread waits only in copy(), where pages could not be locked. Outlives the loader while batches
/// are on loan. prepare(), copy(), operations(), finish(), give_back() and lose() are for the
/// transfer stage, all others for any thread.
class Transfer {
 public:
  struct Sizes {
    std::size_t slab_bytes = 0;   ///< of a slab, that are copied
    std::size_t slot_bytes = 0;   ///< of which piece_bytes(slab_bytes) are the slab's twin
    std::vector<MadePiece> made;  ///< and these pieces the rest
    int slots = 0;
    bool timed = false;        ///< measures copies and waits
    bool keeps_slabs = false;  ///< batch operations read them: give_back() instead of copy()
  };

  /// Keeps `slabs` alive. Left to the system, with the slabs, where it dies in a process that is
  /// ending, in one that was forked, or where the device cannot be asked, as in a callback of the
  /// driver: copies may still be on their way. Throws DeviceError, and
  /// ResourceError when the device has not got the memory.
  static std::shared_ptr<Transfer> open(Device device, const Sizes& sizes,
                                        std::shared_ptr<const void> slabs);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Slabs whose copies are done, and slots that end_loan() could not set free at once.
  Returns& returns() noexcept { return returns_; }
  /// Locks host memory into RAM for as long as this lives; what the system says if it refuses.
  std::string lock_host_memory(std::byte* memory, std::size_t bytes);

  /// The slot that became free first, or null.
  DeviceSlot* take();
  /// The slot may be taken.
  void set_free(DeviceSlot* slot) noexcept;
  bool has_free() const noexcept;

  /// Has the copies wait until the slot may be overwritten.
  void prepare(DeviceSlot& slot);
  /// Queues the copy of a slab; the slab comes back through returns(), behind the copy or, with
  /// keeps_slabs, behind give_back(). If this throws, the copy may be on its way all the same: the
  /// slab must not be filled again.
  void copy(DeviceSlot& slot, BatchMemory& slab);
  /// Where batch operations on the slot run, behind its copy.
  Stream operations(const DeviceSlot& slot);
  /// Says that the last batch operation has been queued.
  void finish(DeviceSlot& slot);
  /// With keeps_slabs: the slab comes back through returns() once all that was queued before
  /// finish() is done. If this throws it never does.
  void give_back(const DeviceSlot& slot, BatchMemory& slab);

  /// Makes a stream of the trainer's wait for the batch; `lent` others have it already. What
  /// end_loan() needs is made here, where it may throw. Throws DeviceError for a stream that is
  /// being captured, or of another device.
  void lend(DeviceSlot& slot, Stream to, std::size_t lent);
  /// The loan has ended: the slot goes round again behind what these streams have queued by now;
  /// at once where copies wait on the device, else through returns(). If it fails nobody knows when
  /// the slot's users are through: it is lost for good, and why is returned.
  std::exception_ptr end_loan(DeviceSlot& slot, std::span<const Stream> streams) noexcept;
  /// end_loan() is to lose the slot: what was queued for it has no event.
  void lose(DeviceSlot& slot) noexcept { slot.unknown = true; }

  void require_health() const;
  /// Counts the times that are known by now.
  TransferStats stats();
  void reset_stats();
  /// From now on the times of the newest `most` batches are kept for copies_since(); 0: no more.
  void keep_copies(std::size_t most);
  /// Those issued from that time on whose times are known.
  std::vector<TraceCopy> copies_since(std::int64_t ns);

 private:
  Transfer(Device device, const Sizes& sizes, std::shared_ptr<const void> slabs);
  void make_slots();
  bool settle() noexcept;
  static void leave_to_system(Transfer* transfer) noexcept;
  void require_own(const DeviceEvent& event, Stream stream);
  void return_behind(const DeviceEvent& event, BatchMemory& slab);
  TransferTimes* times_for_next();
  void count_times();
  void keep(const TransferTimes& times, double copy_s, double exposed_s) noexcept;
  void count_known_times() noexcept;

  Device device_;
  Sizes sizes_;
  std::size_t stride_;
  std::shared_ptr<const void> slabs_;
  Transfer* left_before_ = nullptr;  ///< to the system, as this was
  Returns returns_;
  PageLock pages_;
  DeviceMemory memory_;
  DeviceStream copies_;
  DeviceStream operations_;
  DeviceStream callbacks_;
  std::vector<std::unique_ptr<DeviceSlot>> slots_;
  std::vector<TransferTimes> times_;

  mutable std::mutex mutex_;  // of what follows
  std::vector<DeviceSlot*> free_;
  bool lost_ = false;               ///< a slot, for good
  std::vector<void*> own_streams_;  ///< of the trainer, seen to be of this device
  std::vector<TransferTimes*> unused_times_;
  std::deque<TransferTimes*> outstanding_times_;  ///< oldest first
  TransferStats stats_;
  std::vector<TraceCopy> kept_copies_;  ///< a ring; empty: none are kept
  std::size_t next_copy_ = 0;
};

}  // namespace headrace::inline v1::detail
