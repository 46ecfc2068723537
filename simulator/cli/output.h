// Where a command writes: results to `out`, words and progress to `err`. Exit codes of docs/interface.md.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/error.h"

namespace lockstep {

inline constexpr int kGood = 0, kWrongInput = 1, kRunFailed = 2, kOutsideTolerance = 3, kInterrupted = 130;

enum class Form { Text, Json, JsonLines, Csv };

// Streams of one command; a test gives its own.
struct Output {
  std::ostream& out;
  std::ostream& err;
  std::istream& in;           // what FILE `-` reads
  bool colour = false;        // bold headers, on a terminal without NO_COLOR
  bool error_colour = false;  // the same of `err`
  bool progress = false;      // a progress line that is wiped again, on a terminal that is not dumb
};

// Standard streams; colour and progress by whether they are terminals and by TERM, colour by NO_COLOR too.
Output standard_output();

// Options common to all commands.
struct CommonArguments {
  std::vector<std::string> sets;  // --set, and --seed as the last of them
  Form form = Form::Text;
  std::string output_file;  // -o: instead of standard output; empty = none
  bool quiet = false;
};

// Text as a terminal may show it: what people's files brought along is made visible (base/format.h), our own colours
// stay.
std::string harmless(const std::string& text, const Output& output);

// Writes what a command has to say to -o or to standard output; text goes through `harmless`, and into a file without
// colours. False: it could not be written, and said so.
bool write_result(const std::string& text, const CommonArguments& common, Output& output);
// The same as it is, whatever the form.
bool write_data(const std::string& data, const CommonArguments& common, Output& output);

// Before long work: nothing, or that no file can be written there. What only writing shows (a full disk) is not seen.
std::optional<Error> cannot_write_to(const std::string& file);

// Shows errors as the command's form asks: one line each on `err`, or the error document (JSON lines: one line) on
// `out`. Returns the exit code: 2 when the first says that a run failed, else 1.
int report_errors(const Errors& errors, Form form, Output& output);

// Bold where colours are on.
std::string heading(const std::string& text, const Output& output);

// Text in lines of at most `width` columns, the lines after the first indented.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent);
inline constexpr std::size_t kColumns = 100;

// One line that the next call or clear_progress replaces; nothing unless output.progress.
void show_progress(const std::string& text, Output& output);
void clear_progress(Output& output);

}  // namespace lockstep
