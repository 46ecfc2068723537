// From text to Document: checks of the bytes, then yaml-cpp's events into our tree. yaml-cpp 0.7 lets pass what a
// person would want to hear of (an open quote, bad UTF-8, several documents); those are judged here.
#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <utility>

#include "simulator/base/document.h"
#include "simulator/base/document_build.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

constexpr std::size_t kMaxMapEntries = 5000;  // duplicates are looked for one by one

struct Stop {  // thrown through yaml-cpp, caught in this file
  Error error;
};

Error syntax_error(const Origin& at, std::string message, std::string hint = "", std::string found = "") {
  Error error;
  error.kind = ErrorKind::Syntax;
  error.file = at.file;
  error.line = at.line;
  error.column = at.column;
  error.message = std::move(message);
  error.hint = std::move(hint);
  error.found = std::move(found);
  return error;
}

// --- Bytes
// ------------------------------------------------------------------------------------------------------------- Length
// of the UTF-8 character at `at`, 0 when it is none (RFC 3629: no overlong forms, no surrogates).
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

std::optional<Error> bad_bytes(std::string_view text, const std::string& file) {
  Origin at;
  at.file = file;
  at.line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < text.size();) {
    at.column = static_cast<int>(i - line_start) + 1;
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text, i);
    if (length == 0)
      return syntax_error(at, "the text is not valid UTF-8", "save the file as UTF-8",
                          fmt::format("byte 0x{:02x}", byte));
    if ((byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7f)
      return syntax_error(at, "a control character stands in the text", "is this a text file?",
                          fmt::format("byte 0x{:02x}", byte));
    i += length;
    if (byte == '\n') {
      ++at.line;
      line_start = i;
    }
  }
  return std::nullopt;
}

// Is the quoted scalar that starts at `at` closed? yaml-cpp takes the end of the file for the closing quote.
bool quote_is_closed(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 >= text.size() || text[i + 1] != '\'') return true;
      ++i;  // '' is one quote inside
    }
  }
  return false;
}

// --- Events
// ------------------------------------------------------------------------------------------------------------
class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, std::string file, const DocumentLimits& limits, Origin::From from)
      : text_(text), file_(std::move(file)), limits_(limits), from_(from) {}

  Value take_root() { return std::move(root_); }
  Errors& problems() { return problems_; }
  int documents() const { return documents_; }
  Origin place(const YAML::Mark& mark) const {
    Origin origin;
    origin.from = from_;
    origin.file = file_;
    if (from_ == Origin::From::File && !mark.is_null()) {
      origin.line = mark.line + 1;
      origin.column = mark.column + 1;
    }
    return origin;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      throw Stop{syntax_error(place(mark), "the file holds several documents", "delete all from the second `---` on")};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Value value = start(Value::Kind::Null, mark, anchor, "");
    value.text = written_null(mark);
    // The mark of a value that is not there is that of the next token: the key's place says more.
    if (value.text.empty() && !stack_.empty() && stack_.back().has_key) value.origin = stack_.back().key_origin;
    if (is_key_next()) {
      set_key(value.text, value.origin);
      return;
    }
    add(std::move(value));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    problems_.push_back(syntax_error(place(mark), "aliases (`*name`) are not read", "write the value out again"));
    if (is_key_next()) throw Stop{problems_.back()};
    add(start(Value::Kind::Null, mark, 0, ""));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Value value = start(Value::Kind::Scalar, mark, anchor, tag);
    value.text = text;
    value.quoted = tag == "!";
    check_quote(mark, value);
    if (is_key_next()) {
      set_key(text, value.origin);
      return;
    }
    add(std::move(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Value::Kind::List, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Value::Kind::Map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Value value;
    std::string key;
    Origin key_origin;
    bool has_key = false;
  };

  bool is_key_next() const {
    return !stack_.empty() && stack_.back().value.kind == Value::Kind::Map && !stack_.back().has_key;
  }
  void set_key(const std::string& key, const Origin& origin) {
    stack_.back().key = key;
    stack_.back().key_origin = origin;
    stack_.back().has_key = true;
  }
  Value start(Value::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag) {
    Value value;
    value.kind = kind;
    value.origin = place(mark);
    if (++values_ > limits_.values)
      throw Stop{syntax_error(value.origin, fmt::format("the file holds more than {} values", limits_.values))};
    if (anchor != 0)
      problems_.push_back(syntax_error(value.origin, "anchors (`&name`) are not read", "delete the anchor"));
    if (!tag.empty() && tag != "?" && tag != "!")
      problems_.push_back(syntax_error(value.origin, "tags (`!name`) are not read", "delete the tag"));
    return value;
  }
  void open(Value::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (is_key_next())
      throw Stop{syntax_error(place(mark), "a list or a map stands where a key is needed",
                              "a key is plain text; is a bracket left open?")};
    if (static_cast<int>(stack_.size()) >= limits_.depth)
      throw Stop{syntax_error(place(mark), fmt::format("the file is nested deeper than {} levels", limits_.depth))};
    Frame frame;
    frame.value = start(kind, mark, anchor, tag);
    stack_.push_back(std::move(frame));
  }
  void close() {
    Value value = std::move(stack_.back().value);
    stack_.pop_back();
    add(std::move(value));
  }
  void add(Value value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.value.kind == Value::Kind::List) {
      frame.value.items.push_back(std::move(value));
      return;
    }
    if (frame.value.entries.size() >= kMaxMapEntries)
      throw Stop{syntax_error(frame.key_origin, fmt::format("a map holds more than {} keys", kMaxMapEntries))};
    const std::size_t before = problems_.size();
    insert_entry(frame.value, frame.key, frame.key_origin, std::move(value), problems_);
    for (std::size_t i = before; i < problems_.size(); ++i)
      if (!problems_[i].key.empty()) problems_[i].key = path_of_open_map() + problems_[i].key;
    frame.has_key = false;
  }
  // "batch." or "ops[3].": where the keys of the innermost map stand.
  std::string path_of_open_map() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < stack_.size(); ++i) {
      const Frame& frame = stack_[i];
      if (frame.value.kind == Value::Kind::List)
        path += fmt::format("[{}]", frame.value.items.size());
      else
        path += (path.empty() ? "" : ".") + frame.key;
    }
    return path.empty() ? path : path + ".";
  }
  // yaml-cpp gives no text with OnNull: `~` and `null` are read from the source, unless the word there is the next key.
  std::string written_null(const YAML::Mark& mark) const {
    if (mark.pos < 0 || static_cast<std::size_t>(mark.pos) >= text_.size()) return "";
    const std::string_view rest = text_.substr(static_cast<std::size_t>(mark.pos));
    for (const char* word : {"~", "null", "Null", "NULL"}) {
      const std::string_view w = word;
      if (rest.substr(0, w.size()) != w) continue;
      const std::size_t after = rest.find_first_not_of(' ', w.size());
      const bool key = after != std::string_view::npos && rest[after] == ':';
      return key && !is_key_next() ? "" : std::string(w);
    }
    return "";
  }
  void check_quote(const YAML::Mark& mark, const Value& value) const {
    const auto at = static_cast<std::size_t>(mark.pos);
    if (!value.quoted || mark.pos < 0 || at >= text_.size() || (text_[at] != '"' && text_[at] != '\'')) return;
    if (quote_is_closed(text_, at)) return;
    throw Stop{syntax_error(value.origin, "the quote that opens here is never closed",
                            fmt::format("add the closing {}", text_[at]))};
  }

  std::string_view text_;
  std::string file_;
  DocumentLimits limits_;
  Origin::From from_;
  std::vector<Frame> stack_;
  Value root_;
  Errors problems_;
  std::size_t values_ = 0;
  int documents_ = 0;
};

// --- yaml-cpp's own complaints
// -----------------------------------------------------------------------------------------
std::string_view line_of(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

bool indented_by_tab(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return line.substr(0, first == std::string_view::npos ? line.size() : first).find('\t') != std::string_view::npos;
}

// In words for people, with what usually lies behind it.
Error translate(const YAML::ParserException& e, std::string_view text, const Origin& at) {
  Error error = syntax_error(at, fmt::format("this is not valid YAML ({})", e.msg));
  // A tab shows up on its own line or on the one after.
  for (int line = at.line; line >= std::max(1, at.line - 1); --line) {
    if (!indented_by_tab(line_of(text, line))) continue;
    error.line = line;
    error.column = 1;
    error.message = "a tab indents this line; YAML takes spaces only";
    error.hint = "replace the tab by spaces";
    return error;
  }
  const std::string_view here = line_of(text, at.line);
  const std::size_t colon = here.find(": ");
  const bool two_colons = colon != std::string_view::npos && here.find(": ", colon + 1) != std::string_view::npos;
  if (two_colons && here.find('{') == std::string_view::npos)
    error.hint = "put a text that holds a colon in double quotes";
  else if (e.msg.find("end of sequence flow") != std::string::npos)
    error.hint = "a `[` has no `]`";
  else if (e.msg.find("end of map flow") != std::string::npos)
    error.hint = "a `{` has no `}`";
  else if (e.msg.find("alias") != std::string::npos || e.msg.find("anchor") != std::string::npos)
    error.hint = "put a text that starts with `*` or `&` in double quotes; aliases are not read";
  else
    error.hint = "look at the indentation and the colons of this line and the one before";
  return error;
}

struct Parsed {
  Value root;
  Errors problems;
  bool empty = false;
};

Expected<Parsed> parse_events(std::string_view text, const std::string& file, const DocumentLimits& limits,
                              Origin::From from) {
  const auto fail = [](Error error) { return tl::make_unexpected(Errors{std::move(error)}); };
  Origin top;
  top.from = from;
  top.file = file;
  if (text.size() > limits.bytes)
    return fail(syntax_error(top, fmt::format("the text is larger than {} bytes", limits.bytes)));
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  if (std::optional<Error> error = bad_bytes(text, file)) {
    if (from == Origin::From::Set) error->line = error->column = 0;
    return fail(std::move(*error));
  }
  Builder builder(text, file, limits, from);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop& stop) {
    Errors errors = builder.problems();
    errors.push_back(stop.error);
    return tl::make_unexpected(std::move(errors));
  } catch (const YAML::ParserException& e) {
    return fail(translate(e, text, builder.place(e.mark)));
  } catch (const YAML::Exception& e) {
    return fail(syntax_error(builder.place(e.mark), fmt::format("this is not valid YAML ({})", e.msg)));
  }
  Parsed parsed;
  parsed.empty = builder.documents() == 0;
  parsed.problems = std::move(builder.problems());
  parsed.root = builder.take_root();
  return parsed;
}

}  // namespace

Expected<Document> parse_document(std::string_view text, std::string file, const DocumentLimits& limits) {
  Expected<Parsed> parsed = parse_events(text, file, limits, Origin::From::File);
  if (!parsed) return tl::make_unexpected(std::move(parsed.error()));
  Document document;
  document.file = std::move(file);
  document.problems = std::move(parsed->problems);
  document.root = std::move(parsed->root);
  const bool nothing = document.root.kind == Value::Kind::Null && document.root.text.empty();
  if (parsed->empty || nothing) {
    Origin top;
    top.file = document.file;
    top.line = 1;
    top.column = 1;
    return tl::make_unexpected(Errors{syntax_error(top, "the file is empty")});
  }
  return document;
}

Expected<Value> parse_set_value(std::string_view text) {
  const auto refuse = [&](Errors errors) {
    for (Error& error : errors) {
      error.found = shortened(text);
      if (error.hint.find("indentation") != std::string::npos) error.hint = "put a text with signs in double quotes";
    }
    return tl::make_unexpected(std::move(errors));
  };
  Expected<Parsed> parsed = parse_events(text, "--set", {}, Origin::From::Set);
  if (!parsed) return refuse(std::move(parsed.error()));
  if (!parsed->problems.empty()) return refuse(std::move(parsed->problems));
  parsed->root.origin.from = Origin::From::Set;
  parsed->root.origin.file = "--set";
  return std::move(parsed->root);
}

}  // namespace lockstep
