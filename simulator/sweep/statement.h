// Prepared statements of SQLite. Internal to simulator/sweep.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <optional>
#include <string>

namespace lockstep {

// One prepared statement; `good` is false once something failed.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    good_ = sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) == SQLITE_OK;
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Ready for other values. A statement that gave a row and is not reset keeps reading: the log could not be merged.
  void reset() {
    good_ = statement_ != nullptr;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Statement& bind(int at, const std::string& text) {
    good_ = good_ && sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT) ==
                         SQLITE_OK;
    return *this;
  }
  Statement& bind(int at, std::size_t number) {
    good_ = good_ && sqlite3_bind_int64(statement_, at, static_cast<sqlite3_int64>(number)) == SQLITE_OK;
    return *this;
  }
  bool row() {
    if (!good_) return false;
    const int code = sqlite3_step(statement_);
    good_ = code == SQLITE_ROW || code == SQLITE_DONE;
    return code == SQLITE_ROW;
  }
  bool run() {
    row();
    return good_;
  }
  std::string text(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
  }
  std::size_t number(int column) const { return static_cast<std::size_t>(sqlite3_column_int64(statement_, column)); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  bool good_ = false;
};

// One use of a statement that is kept.
class Use {
 public:
  explicit Use(std::optional<Statement>& statement) : statement_(*statement) {}
  ~Use() { statement_.reset(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Statement* operator->() { return &statement_; }
  const Statement& operator*() const { return statement_; }

 private:
  Statement& statement_;
};

}  // namespace lockstep
