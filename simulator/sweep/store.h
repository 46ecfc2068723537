// The points of a sweep in one SQLite file (DIR/sweep.sqlite), so that a sweep goes on where it was stopped.
// Write-ahead log, one transaction a point: what was stored survives the death of the program at any moment, and is
// there once.
//
// Tables, format_version 1:
//   meta(key, value)   format = lockstep-sweep, format_version, lockstep_version, method, points,
//                      scenario (resolved YAML, lists where keys are swept), identity (what must agree to go on),
//                      keys (those swept, in the order of the axes, a line each)
//   points(combination, key, state, run)   combination: number of scenarios/sweep_axes.h; key: "gpus=8, strategy=dp";
//                      state: run, not_run or failed; run: a run of docs/interface.md ("A result") as JSON
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/error.h"

namespace lockstep {

inline constexpr int kSweepFormatVersion = 1;

// What is swept. A folder is gone on with only when `identity` and `method` are the same, and lockstep's version.
struct SweepIdentity {
  std::string scenario;  // for people
  std::string identity;  // lines "key: value"
  std::string method;    // simulate, estimate, messages
  std::size_t points = 0;
  std::vector<std::string> keys;  // swept, in the order of the axes
};

struct StoredPoint {
  std::size_t combination = 0;
  std::string key;
  std::string state;  // run, not_run, failed (the simulation died)
  std::string run;
};

class SweepStore {
 public:
  // Makes the folder where it is missing. An empty `folder`: a temporary file without a name. Points that failed are
  // forgotten, so that they are tried again. Errors: Conflict (another scenario's sweep, another version of lockstep,
  // in use by another process), NotSupported (a newer format), Io, RunFailed (it could not be written, as on a full
  // disk). A folder that may not be written is read when it has every point, else an error (Io).
  static Expected<SweepStore> open(const std::string& folder, const SweepIdentity& identity);
  // To read what a folder keeps; nothing is added, and no right to write is needed. Another process may add to it
  // meanwhile. Errors: Io (no sweep
  // there), Conflict, NotSupported.
  static Expected<SweepStore> open_to_read(const std::string& folder);
  SweepIdentity identity() const;  // of what is kept

  SweepStore(SweepStore&&) noexcept;
  SweepStore& operator=(SweepStore&&) noexcept;
  ~SweepStore();

  // In one transaction. Errors: RunFailed (a full disk).
  tl::expected<void, Errors> put(const StoredPoint& point);
  bool has(std::size_t combination) const;
  std::optional<StoredPoint> get(std::size_t combination) const;
  // The first one from this number on.
  std::optional<StoredPoint> get_from(std::size_t combination) const;
  std::size_t size() const;
  // To be called in every forked child: the child must not hold the folder when this process is gone.
  void forget_lock() const;

 private:
  struct Connection;
  explicit SweepStore(std::unique_ptr<Connection> connection);
  static Expected<SweepStore> open_complete(const std::string& folder, const SweepIdentity& identity);
  std::unique_ptr<Connection> connection_;
};

}  // namespace lockstep
