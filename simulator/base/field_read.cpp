#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "simulator/base/ensure.h"
#include "simulator/base/field_info.h"
#include "simulator/base/field_value.h"
#include "simulator/base/format.h"
#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

std::string joined(const std::string& group, const std::string& key) {
  return group.empty() ? key : group + "." + key;
}

std::string in_backticks(const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format("`{}`", fmt::join(names, "`, `"));
}

std::string with_article(const std::string& noun) {
  const bool vowel = !noun.empty() && std::string_view("aeio").find(noun.front()) != std::string_view::npos;
  return (vowel ? "an " : "a ") + noun;
}

// Fills one struct from one map; rows of a list get a reader of their own with a longer prefix.
class TableReader {
 public:
  TableReader(const TableInfo& table, void* target, Reading& out, std::string prefix)
      : table_(table), target_(target), out_(out), prefix_(std::move(prefix)) {}

  void read_root(const Value& root) {
    if (root.kind != Value::Kind::Map) {
      fail(value_error(ErrorKind::Type, root, with_article(table_.kind) + " is a map of keys and values",
                       in_backticks(live_children(""))),
           "");
      return;
    }
    read_map(root, "");
    finish();
  }
  // A row written as a list: values in the order of the fields.
  void read_positional(const Value& list) {
    if (list.items.size() > table_.fields.size()) {
      fail(value_error(ErrorKind::Type, list,
                       fmt::format("a {} has at most {} values", table_.kind, table_.fields.size()), positions()),
           "");
      return;
    }
    for (std::size_t i = 0; i < list.items.size(); ++i) read_field(table_.fields[i], list.items[i]);
    finish();
  }

 private:
  // Keys that this version takes, for messages.
  std::vector<std::string> live_children(const std::string& group) const {
    std::vector<std::string> names = table_.children(group);
    std::erase_if(names, [&](const std::string& name) {
      const FieldInfo* field = table_.find(joined(group, name));
      return field != nullptr && field->type == FieldType::Later;
    });
    return names;
  }
  std::string positions() const {
    std::vector<std::string> keys;
    for (const FieldInfo& field : table_.fields) keys.push_back(field.key);
    return fmt::format("[{}]", fmt::join(keys, ", "));
  }
  void fail(Error error, const std::string& key) {
    error.key = prefix_ + key;
    if (error.key.size() > 1 && error.key.back() == '.') error.key.pop_back();
    out_.failed.insert(prefix_ + key);
    out_.errors.push_back(std::move(error));
  }
  void read_map(const Value& map, const std::string& group) {
    for (const Entry& entry : map.entries) read_entry(entry, group);
  }
  void read_entry(const Entry& entry, const std::string& group) {
    if (entry.key.empty()) {  // what stood there before the map was extended from below
      read_bare(entry.value, group);
      return;
    }
    const std::string key = joined(group, entry.key);
    const FieldInfo* field = table_.find(key);
    if (field != nullptr && field->type == FieldType::Later) {
      refuse_later(*field, entry);
    } else if (table_.is_group(key) && (field == nullptr || entry.value.kind == Value::Kind::Map)) {
      read_group(entry.value, key);
    } else if (field != nullptr) {
      read_field(*field, entry.value);
    } else {
      unknown(entry, group);
    }
  }
  void refuse_later(const FieldInfo& field, const Entry& entry) {
    Value at_key = entry.value;
    at_key.origin = entry.origin;
    fail(value_error(ErrorKind::NotSupported, at_key,
                     fmt::format("`{}` is not supported in this version; a later one will take it", field.key), "",
                     "delete the key"),
         field.key);
  }
  void unknown(const Entry& entry, const std::string& group) {
    const std::vector<std::string> here = table_.children(group);
    std::string hint = did_you_mean(entry.key, here);
    if (hint.empty()) hint = elsewhere(entry.key);
    Error error;
    error.kind = ErrorKind::UnknownKey;
    error.file = entry.origin.file;
    error.line = entry.origin.line;
    error.column = entry.origin.column;
    error.found = shortened(entry.key);
    error.allowed = in_backticks(live_children(group));
    error.hint = std::move(hint);
    error.message =
        group.empty() ? with_article(table_.kind) + " has no such key" : fmt::format("`{}` has no such key", group);
    fail(std::move(error), joined(group, entry.key));
  }
  // The same last component, or nearly, in another group: `bucket_cap` at the top is `ddp.bucket_cap`.
  std::string elsewhere(const std::string& key) const {
    std::vector<std::string> last;
    std::vector<const FieldInfo*> fields;
    for (const FieldInfo& field : table_.fields) {
      last.push_back(field.key.substr(field.key.rfind('.') + 1));
      fields.push_back(&field);
    }
    const std::optional<std::string> best = nearest(key, last);
    for (std::size_t i = 0; best && i < last.size(); ++i)
      if (last[i] == *best) return fmt::format("did you mean `{}`?", fields[i]->key);
    return "";
  }
  void read_group(const Value& value, const std::string& group) {
    out_.origins.emplace(prefix_ + group, value.origin);
    if (value.kind == Value::Kind::Map) {
      read_map(value, group);
    } else if (value.kind == Value::Kind::List && !table_.sweep_message.empty()) {
      for (const Value& item : value.items) read_group(item, group);
      refuse_sweep(value, group);
    } else {
      read_bare(value, group);
    }
  }
  // A value where a map is needed is short for the group's first key.
  void read_bare(const Value& value, const std::string& group) {
    const FieldInfo* field = table_.find(group);
    if (field == nullptr) field = table_.shorthand_of(group);
    if (field != nullptr && value.kind != Value::Kind::Null && (value.kind == Value::Kind::Scalar || field->list)) {
      read_field(*field, value);
      return;
    }
    fail(value_error(ErrorKind::Type, value,
                     value.kind == Value::Kind::Null ? "the key has no value" : "keys and values are needed here",
                     in_backticks(live_children(group)),
                     fmt::format("for example `{}: {{{}: ...}}`", group, table_.children(group).front())),
         group);
  }
  void refuse_sweep(const Value& list, const std::string& key) {
    fail(value_error(ErrorKind::NotSupported, list, table_.sweep_message, "", table_.sweep_hint), key);
  }

  void read_field(const FieldInfo& field, const Value& value) {
    out_.origins[prefix_ + field.key] = value.origin;
    if (field.type == FieldType::Ignored) return;
    if (field.type == FieldType::Later) {
      Entry entry;
      entry.origin = value.origin;
      entry.value = value;
      refuse_later(field, entry);
    } else if (field.type == FieldType::Rows) {
      read_rows(field, value);
    } else if (field.type == FieldType::Custom) {
      read_custom(field, value);
    } else if (field.list) {
      read_list(field, value);
    } else if (value.kind == Value::Kind::List && !table_.sweep_message.empty()) {
      for (const Value& item : value.items) read_one(field, item);
      refuse_sweep(value, field.key);
    } else if (const auto scalar = read_one(field, value)) {
      field.assign(target_, *scalar ? Scalars{**scalar} : Scalars{});
    }
  }
  std::optional<std::optional<Scalar>> read_one(const FieldInfo& field, const Value& value) {
    Expected<std::optional<Scalar>> read = read_scalar(field, value);
    if (read) return *read;
    for (Error& error : read.error()) fail(std::move(error), field.key);
    return std::nullopt;
  }
  void read_list(const FieldInfo& field, const Value& value) {
    const bool word = !field.unset_word.empty() && value.kind == Value::Kind::Scalar;
    if (word && canonical_name(value.text) == field.unset_word) {
      field.assign(target_, {});
      return;
    }
    if (value.kind != Value::Kind::List && !(field.one_or_many && value.kind == Value::Kind::Scalar)) {
      const bool scalar = value.kind == Value::Kind::Scalar;
      fail(value_error(ErrorKind::Type, value,
                       value.kind == Value::Kind::Null ? "the key has no value" : "a list is needed here",
                       allowed_text(field), scalar ? fmt::format("write `[{}]`", shortened(value.text, 60)) : ""),
           field.key);
      return;
    }
    if (value.kind == Value::Kind::List && value.items.empty() && !field.unset_word.empty()) {
      fail(value_error(ErrorKind::Range, value, "the list is empty", allowed_text(field)), field.key);
      return;
    }
    const bool sweeps =
        !value.items.empty() && value.items.front().kind == Value::Kind::List && !table_.sweep_message.empty();
    if (sweeps) {
      for (const Value& item : value.items) read_list(field, item);
      refuse_sweep(value, field.key);
      return;
    }
    Scalars scalars;
    bool good = true;
    const auto take = [&](const Value& item) {
      const auto read = read_one(field, item);
      good = good && read && *read;
      if (good) scalars.push_back(**read);
    };
    if (value.kind == Value::Kind::List) {
      for (const Value& item : value.items) take(item);
    } else {
      take(value);
    }
    if (good) field.assign(target_, scalars);
  }
  void read_rows(const FieldInfo& field, const Value& value) {
    if (value.kind != Value::Kind::List) {
      fail(value_error(ErrorKind::Type, value,
                       value.kind == Value::Kind::Null ? "the key has no value" : "a list is needed here",
                       allowed_text(field)),
           field.key);
      return;
    }
    field.clear_rows(target_);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const Value& item = value.items[i];
      const std::string row = fmt::format("{}{}[{}]", prefix_, field.key, i);
      const std::size_t before = out_.errors.size();
      out_.origins[row] = item.origin;
      TableReader reader(*field.row_table, field.add_row(target_), out_, row + ".");
      if (field.positional && item.kind == Value::Kind::List)
        reader.read_positional(item);
      else
        reader.read_root(item);
      if (out_.errors.size() != before) out_.failed.insert(prefix_ + field.key);
    }
  }
  void read_custom(const FieldInfo& field, const Value& value) {
    std::optional<Error> error = field.read_custom(target_, value);
    if (!error) return;
    Error placed = value_error(error->kind, value, error->message, error->allowed, error->hint);
    if (!error->found.empty()) placed.found = error->found;
    if (error->line > 0) std::tie(placed.line, placed.column) = std::tie(error->line, error->column);
    fail(std::move(placed), error->key.empty() ? field.key : error->key);
  }

  // Missing keys, then the rules whose keys are all sound.
  void finish() {
    for (const FieldInfo& field : table_.fields)
      if (field.required && !out_.given(prefix_ + field.key) && !failed(field.key) && !replaced(field))
        report_missing(field);
    for (const TableRule& rule : table_.rules) {
      const bool sound =
          std::none_of(rule.keys.begin(), rule.keys.end(), [&](const std::string& k) { return failed(k); });
      TableCheck check(out_, prefix_);
      if (sound) rule.run(target_, check);
    }
  }
  bool replaced(const FieldInfo& field) const {
    return !field.required_unless.empty() && out_.given(prefix_ + field.required_unless);
  }
  // Named by its group where the whole group is missing and a bare value would do: `topology`, not `topology.node`.
  void report_missing(const FieldInfo& field) {
    const std::size_t dot = field.key.rfind('.');
    const std::string group = dot == std::string::npos ? "" : field.key.substr(0, dot);
    const bool whole = !group.empty() && !out_.given(prefix_ + group) && table_.shorthand_of(group) == &field;
    const std::string& key = whole ? group : field.key;
    TableCheck(out_, prefix_)
        .fail(ErrorKind::Missing, key, fmt::format("`{}` is missing", key), allowed_text(field),
              field.example.empty() ? "" : fmt::format("for example `{}: {}`", key, field.example));
  }
  bool failed(const std::string& key) const { return !out_.sound(prefix_ + key); }

  const TableInfo& table_;
  void* target_;
  Reading& out_;
  std::string prefix_;
};

}  // namespace

bool Reading::sound(const std::string& key) const {
  const auto inside = [](const std::string& longer, const std::string& shorter) {
    return longer.size() > shorter.size() && longer[shorter.size()] == '.' &&
           longer.compare(0, shorter.size(), shorter) == 0;
  };
  return std::none_of(failed.begin(), failed.end(), [&](const std::string& bad) {
    return bad.empty() || bad == key || inside(bad, key) || inside(key, bad);
  });
}

const FieldInfo* TableInfo::find(const std::string& key) const {
  for (const FieldInfo& field : fields)
    if (field.key == key) return &field;
  return nullptr;
}

bool TableInfo::is_group(const std::string& key) const {
  return std::any_of(fields.begin(), fields.end(), [&](const FieldInfo& field) {
    return field.key.size() > key.size() && field.key[key.size()] == '.' && field.key.compare(0, key.size(), key) == 0;
  });
}

std::vector<std::string> TableInfo::children(const std::string& group) const {
  std::vector<std::string> names;
  const std::string start = group.empty() ? "" : group + ".";
  for (const FieldInfo& field : fields) {
    if (field.key.compare(0, start.size(), start) != 0) continue;
    std::string name = field.key.substr(start.size());
    name = name.substr(0, name.find('.'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

const FieldInfo* TableInfo::shorthand_of(const std::string& group) const {
  if (std::find(no_shorthand.begin(), no_shorthand.end(), group) != no_shorthand.end()) return nullptr;
  const std::vector<std::string> names = children(group);
  return names.empty() ? nullptr : find(joined(group, names.front()));
}

void TableCheck::fail(ErrorKind kind, const std::string& key, std::string message, std::string allowed,
                      std::string hint, std::string found) {
  Error error;
  error.kind = kind;
  error.key = prefix_ + key;
  error.message = std::move(message);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  error.found = std::move(found);
  place_error(error, reading_);
  reading_.failed.insert(error.key);
  reading_.errors.push_back(std::move(error));
}

void place_error(Error& error, const Reading& reading) {
  std::string key = error.key;
  while (true) {
    if (const auto at = reading.origins.find(key); at != reading.origins.end()) {
      error.file = at->second.file;
      error.line = at->second.line;
      error.column = at->second.column;
      return;
    }
    if (key.empty()) return;
    const std::size_t dot = key.rfind('.');
    key = dot == std::string::npos ? "" : key.substr(0, dot);
  }
}

void read_table(const TableInfo& table, const Document& document, void* target, Reading& reading) {
  reading.errors.insert(reading.errors.end(), document.problems.begin(), document.problems.end());
  for (const Error& problem : document.problems)
    if (!problem.key.empty()) reading.failed.insert(problem.key);
  Origin file;
  file.from = Origin::From::File;
  file.file = document.file;
  reading.origins[""] = file;
  TableReader(table, target, reading, "").read_root(document.root);
}

namespace {

// The number of the `--set` that an error is about, the last one where several are: one of its key, of a key below it,
// or of the map that holds it.
std::size_t number_of_set(const Error& error, const std::vector<std::string>& sets) {
  const auto below = [](const std::string& a, const std::string& b) {  // a is b, or below it
    return a.rfind(b, 0) == 0 && (a.size() == b.size() || a[b.size()] == '.');
  };
  for (std::size_t i = sets.size(); i-- > 0;) {
    std::string key = sets[i].substr(0, sets[i].find('='));
    key.erase(0, key.find_first_not_of(' '));
    key.erase(key.find_last_not_of(' ') + 1);
    const bool about =
        error.key.empty() ? error.found == shortened(sets[i]) : below(error.key, key) || below(key, error.key);
    if (about && !(key.empty() && !error.key.empty())) return i;
  }
  return sets.size();
}

}  // namespace

Errors in_file_order(Errors errors, const std::vector<std::string>& sets) {
  const auto rank = [&](const Error& e) {
    const bool set = e.file == "--set";
    return std::tuple(set ? 1 : e.line == 0 ? 2 : 0, set ? number_of_set(e, sets) : 0, e.line, e.column);
  };
  std::stable_sort(errors.begin(), errors.end(), [&](const Error& a, const Error& b) { return rank(a) < rank(b); });
  return errors;
}

}  // namespace lockstep
