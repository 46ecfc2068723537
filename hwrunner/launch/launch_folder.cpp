#include "hwrunner/launch/launch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace lockstep {
namespace {

namespace fs = std::filesystem;
constexpr const char* kPrefix = "lockstep-ranks-";
constexpr const char* kOwner = "/owner";
// A folder without an owner may be one that is being made.
constexpr std::time_t kBeingMade_s = 60;

// Held as long as the descriptor is open; -1: somebody else holds it, or there is none.
int lock_of(const std::string& file, int flags) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (descriptor < 0 || ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  errno = EWOULDBLOCK;
  return -1;
}

bool is_left_over(const std::string& folder) {
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid()) return false;
  const int lock = lock_of(folder + kOwner, 0);
  if (lock >= 0) ::close(lock);
  return lock >= 0 || (errno == ENOENT && ::time(nullptr) - facts.st_mtime > kBeingMade_s);
}

void remove_left_over(const fs::path& where) {
  std::error_code failure;
  for (fs::directory_iterator at(where, failure), end; !failure && at != end; at.increment(failure)) {
    const std::string path = at->path().string();
    std::error_code ignored;
    if (at->path().filename().string().rfind(kPrefix, 0) == 0 && is_left_over(path)) fs::remove_all(path, ignored);
  }
}

}  // namespace

LaunchFolder::LaunchFolder(RunPlan& plan) {
  std::error_code failure;
  const fs::path where = fs::temp_directory_path(failure);
  if (failure) {
    problem_ = failure.message();
    return;
  }
  remove_left_over(where);
  std::string pattern = (where / (std::string(kPrefix) + "XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    problem_ = std::strerror(errno);
    return;
  }
  path_ = pattern;
  owner_ = lock_of(path_ + kOwner, O_CREAT);
  plan.rendezvous = path_;
  std::ofstream file(plan_file());
  file << plan_to_json(plan);
  written_ = owner_ >= 0 && file.flush().good();
  if (!written_) problem_ = std::strerror(errno);
}

LaunchFolder::~LaunchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (owner_ >= 0) ::close(owner_);
}

}  // namespace lockstep
