#include "simulator/sweep/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <locale>
#include <sstream>

#include "simulator/result/result.h"
#include "simulator/sweep/statement.h"

namespace lockstep {
namespace {

// Another process may read the file while points are added: wait that long for each other.
constexpr int kBusyMs = 10'000;

tl::unexpected<Errors> wrong(ErrorKind kind, const std::string& file, std::string message, std::string hint = "") {
  Error error;
  error.kind = kind;
  error.file = file;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return tl::make_unexpected(Errors{error});
}

// Of the columns combination, key, state, run.
StoredPoint point_in(const Statement& row) {
  return {row.number(0), row.text(1), row.text(2), row.text(3)};
}

bool execute(sqlite3* database, const char* sql) {
  return sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::string file_in(const std::string& folder) {
  return (std::filesystem::path(folder) / "sweep.sqlite").string();
}

bool is_kept_but_not_writable(const std::string& folder) {
  const std::string file = file_in(folder);
  return ::access(file.c_str(), R_OK) == 0 &&
         (::access(folder.c_str(), W_OK) != 0 || ::access(file.c_str(), W_OK) != 0);
}

// The first line in which two texts differ, of each.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  std::string of_a, of_b;
  while (true) {
    const bool more_a = static_cast<bool>(std::getline(left, of_a));
    const bool more_b = static_cast<bool>(std::getline(right, of_b));
    if (!more_a) of_a = "nothing";
    if (!more_b) of_b = "nothing";
    if (of_a != of_b || (!more_a && !more_b)) return {of_a, of_b};
  }
}

}  // namespace

struct SweepStore::Connection {
  sqlite3* database = nullptr;
  int lock = -1;
  std::string file;
  // Of every point, so prepared once.
  std::optional<Statement> insert, exists, select, select_from;
  std::size_t points = 0;  // in the file: nobody else adds any
  ~Connection() {
    for (auto* statement : {&insert, &exists, &select, &select_from}) statement->reset();
    sqlite3_close(database);
    if (lock >= 0) ::close(lock);
  }

  tl::unexpected<Errors> failed(const char* what) const {
    return wrong(ErrorKind::Io, file, fmt::format("{}: {}", what, sqlite3_errmsg(database)));
  }

  std::string meta(const char* key) const {
    Statement statement(database, "SELECT value FROM meta WHERE key = ?1");
    return statement.bind(1, key).row() ? statement.text(0) : "";
  }

  // Of a write that failed: a full disk is not the fault of the input.
  tl::unexpected<Errors> not_written(const char* what) const {
    const std::string folder = std::filesystem::path(file).parent_path().string();
    std::string hint;
    if (!file.empty())
      hint = fmt::format("make room; `lockstep sweep -o {}` shows what is kept, the same command goes on from there",
                         folder);
    return wrong(ErrorKind::RunFailed, file, fmt::format("{}: {}", what, sqlite3_errmsg(database)), std::move(hint));
  }

  // One process at a time adds points; the lock goes with the process, however it ends.
  tl::expected<void, Errors> lock_folder(const std::string& folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure || !std::filesystem::is_directory(folder))
      return wrong(ErrorKind::Io, folder,
                   fmt::format("no folder can be made here: {}", failure ? failure.message() : "a file is in the way"),
                   "-o names the folder that keeps the sweep");
    lock = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0)
      return wrong(ErrorKind::Io, folder, fmt::format("the folder cannot be opened: {}", std::strerror(errno)));
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0)
      return wrong(ErrorKind::Conflict, folder, "another lockstep is sweeping into this folder",
                   "wait until it is done, or give another folder");
    return {};
  }

  tl::expected<void, Errors> open_database() {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    if (sqlite3_open_v2(file.c_str(), &database, flags, nullptr) != SQLITE_OK)
      return failed("the sweep cannot be opened");
    sqlite3_busy_timeout(database, kBusyMs);
    // NORMAL: no wait for the disk at each point. A killed program loses nothing, a power cut the last points at most.
    if (!file.empty() &&
        !(execute(database, "PRAGMA journal_mode = WAL") && execute(database, "PRAGMA synchronous = NORMAL")))
      return failed("the sweep cannot be opened");
    return {};
  }

  // Without writing. Where neither the folder nor the log's index can be written and no log is there, nobody can be
  // adding points, and SQLite is told so; else it would want to make the index.
  tl::expected<void, Errors> open_to_read() {
    const std::filesystem::path path(file);
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const bool writable = ::access(file.c_str(), W_OK) == 0 && ::access(folder.c_str(), W_OK) == 0;
    // With the right to write, what a killed program left in the log is put in its place.
    for (const int flags : {SQLITE_OPEN_READWRITE, SQLITE_OPEN_READONLY}) {
      if (flags == SQLITE_OPEN_READWRITE && !writable) continue;
      if (opens_and_reads(file, flags)) return {};
    }
    std::error_code ignored;
    const auto log_bytes = std::filesystem::file_size(file + "-wal", ignored);
    if ((ignored || log_bytes == 0) && opens_and_reads(immutable_uri(), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI))
      return {};
    return failed("the sweep cannot be opened");
  }

  bool opens_and_reads(const std::string& name, int flags) {
    sqlite3_close(database);
    database = nullptr;
    if (sqlite3_open_v2(name.c_str(), &database, flags, nullptr) != SQLITE_OK) return false;
    sqlite3_busy_timeout(database, kBusyMs);
    return execute(database, "SELECT count(*) FROM sqlite_schema");
  }

  std::string immutable_uri() const {
    std::string uri = "file:";
    for (const char c : std::filesystem::absolute(file).string()) {
      const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/-_.~", c) != nullptr;
      uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
    return uri + "?immutable=1";
  }

  tl::expected<void, Errors> create(const SweepIdentity& identity) {
    if (!execute(database,
                 "BEGIN IMMEDIATE; CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
                 "CREATE TABLE points(combination INTEGER PRIMARY KEY, key TEXT NOT NULL, state TEXT NOT NULL,"
                 " run TEXT NOT NULL);"))
      return not_written("the sweep cannot be written");
    const std::pair<const char*, std::string> entries[] = {{"format", "lockstep-sweep"},
                                                           {"format_version", fmt::format("{}", kSweepFormatVersion)},
                                                           {"lockstep_version", lockstep_version()},
                                                           {"method", identity.method},
                                                           {"points", fmt::format("{}", identity.points)},
                                                           {"scenario", identity.scenario},
                                                           {"identity", identity.identity},
                                                           {"keys", fmt::format("{}", fmt::join(identity.keys, "\n"))}};
    for (const auto& [key, value] : entries) {
      Statement entry(database, "INSERT INTO meta VALUES(?1, ?2)");
      if (!entry.bind(1, key).bind(2, value).run()) return not_written("the sweep cannot be written");
    }
    if (!execute(database, "COMMIT")) return not_written("the sweep cannot be written");
    return {};
  }

  tl::expected<void, Errors> check_format() const {
    if (meta("format") != "lockstep-sweep")
      return wrong(ErrorKind::Conflict, file, "this is no sweep of lockstep", "give another folder");
    if (const std::string version = meta("format_version"); version != fmt::format("{}", kSweepFormatVersion))
      return wrong(
          ErrorKind::NotSupported, file,
          fmt::format("the sweep has format_version {}, this lockstep writes {}", version, kSweepFormatVersion),
          "give another folder");
    return {};
  }

  tl::expected<void, Errors> check(const SweepIdentity& identity) const {
    if (auto good = check_format(); !good) return good;
    if (const std::string version = meta("lockstep_version"); version != lockstep_version())
      return wrong(ErrorKind::Conflict, file,
                   fmt::format("the sweep was begun by lockstep {}, this is {}", version, lockstep_version()),
                   "give another folder: two versions may predict differently");
    if (const std::string method = meta("method"); method != identity.method)
      return wrong(
          ErrorKind::Conflict, file,
          fmt::format("the points in this folder were made by `{}`, these would be by `{}`", method, identity.method),
          "give another folder");
    if (const std::string stored = meta("identity"); stored != identity.identity) {
      const auto [there, here] = first_difference(stored, identity.identity);
      return wrong(ErrorKind::Conflict, file,
                   fmt::format("the folder holds the sweep of another scenario: `{}` there, `{}` here", there, here),
                   "give another folder, or the scenario of this one");
    }
    return {};
  }

  tl::expected<void, Errors> prepare() {
    Statement count(database, "SELECT count(*) FROM points");
    if (!count.row()) return failed("the sweep cannot be read");
    points = count.number(0);
    insert.emplace(database, "INSERT INTO points VALUES(?1, ?2, ?3, ?4)");
    exists.emplace(database, "SELECT 1 FROM points WHERE combination = ?1");
    select.emplace(database, "SELECT combination, key, state, run FROM points WHERE combination = ?1");
    select_from.emplace(database,
                        "SELECT combination, key, state, run FROM points WHERE combination >= ?1 "
                        "ORDER BY combination LIMIT 1");
    return {};
  }

  // Points that need not be computed again.
  std::size_t good_points() const {
    Statement count(database, "SELECT count(*) FROM points WHERE state != 'failed'");
    return count.row() ? count.number(0) : 0;
  }

  bool is_new() const {
    Statement statement(database, "SELECT count(*) FROM sqlite_schema");
    return statement.row() && statement.number(0) == 0;
  }
};

SweepStore::SweepStore(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
SweepStore::SweepStore(SweepStore&&) noexcept = default;
SweepStore& SweepStore::operator=(SweepStore&&) noexcept = default;
SweepStore::~SweepStore() = default;

// A folder that cannot be written still answers when it lacks nothing.
Expected<SweepStore> SweepStore::open_complete(const std::string& folder, const SweepIdentity& identity) {
  auto store = open_to_read(folder);
  if (!store) return store;
  const Connection& connection = *store->connection_;
  if (auto good = connection.check(identity); !good) return tl::unexpected(std::move(good.error()));
  if (const std::size_t there = connection.good_points(); there != identity.points)
    return wrong(ErrorKind::Io, folder,
                 fmt::format("the folder cannot be written, and {} of {} points are missing", identity.points - there,
                             identity.points),
                 fmt::format("`lockstep sweep -o {}` shows what is kept", folder));
  return store;
}

Expected<SweepStore> SweepStore::open(const std::string& folder, const SweepIdentity& identity) {
  auto connection = std::make_unique<Connection>();
  if (!folder.empty() && is_kept_but_not_writable(folder)) return open_complete(folder, identity);
  if (!folder.empty()) {
    if (auto locked = connection->lock_folder(folder); !locked) return tl::unexpected(std::move(locked.error()));
    connection->file = file_in(folder);
  }
  if (auto opened = connection->open_database(); !opened) return tl::unexpected(std::move(opened.error()));
  auto good = connection->is_new() ? connection->create(identity) : connection->check(identity);
  if (!good) return tl::unexpected(std::move(good.error()));
  if (!execute(connection->database, "DELETE FROM points WHERE state = 'failed'"))
    return connection->not_written("the sweep cannot be written");
  if (auto prepared = connection->prepare(); !prepared) return tl::unexpected(std::move(prepared.error()));
  return SweepStore(std::move(connection));
}

Expected<SweepStore> SweepStore::open_to_read(const std::string& folder) {
  auto connection = std::make_unique<Connection>();
  connection->file = file_in(folder);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(connection->file, ignored))
    return wrong(ErrorKind::Io, folder, "no sweep is kept here", "`lockstep sweep FILE -o DIR` keeps one");
  if (auto opened = connection->open_to_read(); !opened) return tl::unexpected(std::move(opened.error()));
  if (auto good = connection->check_format(); !good) return tl::unexpected(std::move(good.error()));
  if (auto prepared = connection->prepare(); !prepared) return tl::unexpected(std::move(prepared.error()));
  return SweepStore(std::move(connection));
}

SweepIdentity SweepStore::identity() const {
  SweepIdentity identity;
  identity.scenario = connection_->meta("scenario");
  identity.identity = connection_->meta("identity");
  identity.method = connection_->meta("method");
  std::istringstream points(connection_->meta("points")), keys(connection_->meta("keys"));
  points.imbue(std::locale::classic());
  points >> identity.points;
  for (std::string key; std::getline(keys, key);) identity.keys.push_back(key);
  return identity;
}

tl::expected<void, Errors> SweepStore::put(const StoredPoint& point) {
  // A statement alone is a transaction.
  Use insert(connection_->insert);
  insert->bind(1, point.combination).bind(2, point.key).bind(3, point.state).bind(4, point.run);
  if (!insert->run()) return connection_->not_written("a point cannot be stored");
  ++connection_->points;
  return {};
}

bool SweepStore::has(std::size_t combination) const {
  Use exists(connection_->exists);
  return exists->bind(1, combination).row();
}

std::optional<StoredPoint> SweepStore::get(std::size_t combination) const {
  Use select(connection_->select);
  if (!select->bind(1, combination).row()) return std::nullopt;
  return point_in(*select);
}

std::optional<StoredPoint> SweepStore::get_from(std::size_t combination) const {
  Use select(connection_->select_from);
  if (!select->bind(1, combination).row()) return std::nullopt;
  return point_in(*select);
}

std::size_t SweepStore::size() const {
  return connection_->points;
}

void SweepStore::forget_lock() const {
  if (connection_->lock >= 0) ::close(connection_->lock);
}

}  // namespace lockstep
