#include "simulator/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "simulator/base/format.h"
#include "simulator/cli/interrupt.h"
#include "simulator/cli/table.h"
#include "simulator/result/json.h"

namespace lockstep {
namespace {

constexpr const char* kBold = "\033[1m";
constexpr const char* kRed = "\033[31m";
constexpr const char* kPlain = "\033[0m";

// A terminal that knows escape sequences: colours, and a line that is wiped again.
bool understands_escapes() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && understands_escapes();
}

// Written beside the target and renamed, so that an interrupted command leaves no half file.
bool write_file(const std::string& path, const std::string& text) {
  std::error_code ignored;
  const bool regular = !std::filesystem::exists(path, ignored) || std::filesystem::is_regular_file(path, ignored);
  const std::string target = regular ? fmt::format("{}.{}.part", path, getpid()) : path;
  std::ofstream file(target, std::ios::binary);
  file << text;
  file.close();
  if (file.fail()) return false;
  if (!regular) return true;
  std::error_code failure;
  std::filesystem::rename(target, path, failure);
  if (failure) std::filesystem::remove(target, ignored);
  return !failure;
}

// A file gets no colours.
std::string without_colours(const std::string& text, const Output& output) {
  std::string plain = harmless(text, output);
  for (const std::string_view ours : {kBold, kPlain})
    for (std::size_t at = 0; output.colour && (at = plain.find(ours, at)) != std::string::npos;)
      plain.erase(at, ours.size());
  return plain;
}

}  // namespace

Output standard_output() {
  Output output{std::cout, std::cerr, std::cin};
  output.colour = isatty(STDOUT_FILENO) != 0 && wants_colour();
  output.error_colour = isatty(STDERR_FILENO) != 0 && wants_colour();
  output.progress = isatty(STDERR_FILENO) != 0 && understands_escapes();
  return output;
}

std::string harmless(const std::string& text, const Output& output) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    // The pieces between our own colours.
    std::size_t end = text.size(), next = text.size();
    for (const std::string_view ours : {kBold, kPlain})
      if (const std::size_t found = text.find(ours, at); output.colour && found < end) {
        end = found;
        next = found + ours.size();
      }
    out += visible(std::string_view(text).substr(at, end - at), true) + text.substr(end, next - end);
    at = next;
  }
  return out;
}

bool write_result(const std::string& text, const CommonArguments& common, Output& output) {
  if (common.form != Form::Text) return write_data(text, common, output);
  return write_data(common.output_file.empty() ? harmless(text, output) : without_colours(text, output), common,
                    output);
}

bool write_data(const std::string& data, const CommonArguments& common, Output& output) {
  errno = 0;
  if (!common.output_file.empty()) {
    if (write_file(common.output_file, data)) return true;
  } else {
    if (common.form == Form::Json) document_begins();
    output.out << data << std::flush;
    if (output.out.good()) return true;
  }
  const std::string reason = errno != 0 ? std::strerror(errno) : "no reason given";
  Error error;
  error.kind = ErrorKind::Io;
  error.file = common.output_file;
  error.message = fmt::format("the result cannot be written: {}", reason);
  // Standard output is still there for programs when it is a file that cannot be written.
  const bool lost = common.form != Form::Json || common.output_file.empty();
  report_errors({error}, lost ? Form::Text : Form::Json, output);
  return false;
}

std::optional<Error> cannot_write_to(const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(file).parent_path();
  std::error_code code;
  std::string reason;
  if (file.empty()) return std::nullopt;
  if (fs::is_directory(file, code))
    reason = "it is a folder";
  else if (fs::exists(file, code))
    reason = ::access(file.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
  else if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    reason = std::strerror(errno);
  if (reason.empty()) return std::nullopt;
  Error error;
  error.kind = ErrorKind::Io;
  error.file = file;
  error.message = fmt::format("the result cannot be written there: {}", reason);
  error.hint = "nothing was run";
  return error;
}

int report_errors(const Errors& errors, Form form, Output& output) {
  clear_progress(output);
  if (form == Form::Json) {
    document_begins();
    output.out << errors_to_json(errors) << std::flush;
  }
  for (const Error& error : errors) {
    if (form == Form::JsonLines)
      output.out << R"({"type":"error","message":)" << json_text(to_text(error)) << "}\n" << std::flush;
    else if (form != Form::Json)
      output.err << (output.error_colour ? kRed : "") << "lockstep: " << (output.error_colour ? kPlain : "")
                 << visible(to_text(error)) << '\n';
  }
  const bool failed = !errors.empty() && errors.front().kind == ErrorKind::RunFailed;
  return failed ? kRunFailed : kWrongInput;
}

std::string heading(const std::string& text, const Output& output) {
  return output.colour ? fmt::format("{}{}{}", kBold, text, kPlain) : text;
}

std::string wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    // A number and its unit stay together.
    std::size_t end = std::min(text.find(' ', at), text.size());
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end - 1])) != 0)
      end = std::min(text.find(' ', end + 1), text.size());
    const std::string word = text.substr(at, end - at);
    if (column != 0 && column + 1 + text_width(word) > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += text_width(word);
    at = end + 1;
  }
  return out;
}

void show_progress(const std::string& text, Output& output) {
  if (output.progress) output.err << "\r\033[K" << visible(text) << std::flush;
}

void clear_progress(Output& output) {
  if (output.progress) output.err << "\r\033[K" << std::flush;
}

}  // namespace lockstep
