#include "tests/laws_of_layers/type_names.h"

#include <algorithm>
#include <cctype>

namespace lockstep::testing {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Words and single signs, without comments, preprocessor lines and what stands in quotes.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  bool line_starts = true;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto skip_to = [&](std::string_view end, std::size_t from) {
      const std::size_t found = text.find(end, from);
      at = found == std::string_view::npos ? text.size() : found + end.size();
    };
    if (c == '\n') {
      line_starts = true;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
    } else if (c == '#' && line_starts) {
      while (at < text.size() && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      skip_to("*/", at + 2);
    } else if (text.substr(at, 2) == "R\"") {
      const std::size_t bracket = text.find('(', at);
      skip_to(")" + std::string(text.substr(at + 2, bracket - at - 2)) + "\"", bracket);
    } else if (c == '"' || (c == '\'' && (tokens.empty() || !std::isdigit(static_cast<unsigned char>(text[at - 1]))))) {
      for (++at; at < text.size() && text[at] != c; ++at)
        if (text[at] == '\\') ++at;
      ++at;
    } else if (is_word(c)) {
      const std::size_t start = at;
      while (at < text.size() && (is_word(text[at]) || (text[at] == '\'' && is_word(text[at - 1])))) ++at;
      tokens.emplace_back(text.substr(start, at - start));
      line_starts = false;
    } else {
      tokens.emplace_back(1, c);
      ++at;
      line_starts = false;
    }
  }
  return tokens;
}

using Tokens = std::vector<std::string>;

// Without `template <...>`, which may name class and struct.
Tokens without_templates(const Tokens& statement) {
  Tokens rest;
  for (std::size_t i = 0; i < statement.size(); ++i) {
    if (statement[i] != "template") {
      rest.push_back(statement[i]);
      continue;
    }
    int open = 0;
    for (++i; i < statement.size(); ++i) {
      if (statement[i] == "<") ++open;
      if (statement[i] == ">" && --open == 0) break;
    }
  }
  return rest;
}

// The name of the type whose body comes after this; empty: none does.
std::string type_begun_by(const Tokens& all) {
  const Tokens statement = without_templates(all);
  for (std::size_t i = 0; i < statement.size(); ++i) {
    const std::string& word = statement[i];
    if (word == "(" || word == "=") return "";  // a function, or a value of a type
    if (word != "struct" && word != "class" && word != "union" && word != "enum") continue;
    std::size_t name = i + 1;
    if (name < statement.size() && word == "enum" && (statement[name] == "class" || statement[name] == "struct"))
      ++name;
    if (name >= statement.size() || !is_word(statement[name].front())) return "";
    const std::string after = name + 1 < statement.size() ? statement[name + 1] : "";
    const bool nested = after == ":" && name + 2 < statement.size() && statement[name + 2] == ":";  // Outer::Inner
    if (nested) return "";
    return after.empty() || after == ":" || after == "final" ? statement[name] : "";
  }
  return "";
}

// "a::b" of `namespace a::b`, "()" of an anonymous one; nothing: it begins no namespace.
std::string namespace_begun_by(const Tokens& statement) {
  if (statement.empty() || (statement[0] != "namespace" && (statement.size() < 2 || statement[1] != "namespace")))
    return "";
  std::string name;
  for (std::size_t i = statement[0] == "namespace" ? 1 : 2; i < statement.size(); ++i) name += statement[i];
  return name.empty() ? "()" : name;
}

}  // namespace

std::vector<std::string> types_defined_in(std::string_view source) {
  std::vector<std::string> found;
  std::vector<std::string> open;  // namespaces; "{": anything else
  Tokens statement;
  for (const std::string& token : tokens_of(source)) {
    if (token == "{") {
      const std::string name = namespace_begun_by(statement);
      std::string path;
      bool named = !open.empty();
      for (const std::string& one : open) {
        named = named && one != "{" && one != "()";
        path += one + "::";
      }
      const std::string type = named && path.rfind("lockstep::", 0) == 0 ? type_begun_by(statement) : "";
      if (!type.empty()) found.push_back(path.substr(10) + type);
      open.push_back(name.empty() ? "{" : name);
      statement.clear();
    } else if (token == "}") {
      if (!open.empty()) open.pop_back();
      statement.clear();
    } else if (token == ";") {
      statement.clear();
    } else {
      statement.push_back(token);
    }
  }
  return found;
}

}  // namespace lockstep::testing
