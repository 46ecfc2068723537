// A key exists once: the field table of a kind of file says key, type, unit, range, default, one line of doc. It drives
// reading (all errors at once, in file order), defaults, "did you mean", `show`, the JSON Schema and the docs.
//
//   const FieldTable<Fabric>& fabric_fields() {
//     static const FieldTable<Fabric> table = [] {
//       FieldTable<Fabric> t("fabric");                                     // words for messages: "a fabric has no key
//       ..." t.text("name", &Fabric::name).required().doc("Name of the preset"); t.choice("kind", &Fabric::kind,
//       {{"infiniband", FabricKind::InfiniBand}, {"tcp", FabricKind::Tcp}}).doc("..."); t.integer("nics.count",
//       [](auto& f) -> auto& { return f.nics.count; }).range(1, 64).required().doc("..."); t.quantity("nics.rate",
//       Unit::BytesPerSecond, [](auto& f) -> auto& { return f.nics.rate; }).range(1e6, 1e13); t.rows("links",
//       &Node::nvlink_pairs, pair_fields()).positional();   // list of maps, or of lists by position t.later("loader",
//       "Data loader workers");                           // refused by name: not_supported t.check({"kind",
//       "nics.rate"}, [](const Fabric& f, TableCheck& c) {
//         if (...) c.fail(ErrorKind::Conflict, "nics.rate", "a sentence", "what is allowed", "a hint");
//       });
//       return t;
//     }();
//     return table;
//   }
//   Expected<Document> document = read_document(path);                      // or parse_document(text, name)
//   Expected<Fabric> fabric = fabric_fields().read(*document);
//
// Defaults are those of a default-constructed T. An accessor is a member pointer or `[](auto& t) -> auto& {...}`; the
// member may be std::optional (or text, empty = not set), then `.unset("auto")` names the word for "not set". `later`
// and `since` are versions of lockstep.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "simulator/base/document.h"
#include "simulator/base/ensure.h"
#include "simulator/base/error.h"
#include "simulator/base/field_info.h"
#include "simulator/base/quantity.h"

namespace lockstep {

// Sets the details of the field just declared.
class FieldBuilder {
 public:
  explicit FieldBuilder(FieldInfo& field) : field_(&field) {}
  FieldBuilder& doc(std::string text) { return field_->doc = std::move(text), *this; }
  FieldBuilder& since(std::string version) { return field_->since = std::move(version), *this; }
  FieldBuilder& example(std::string yaml) { return field_->example = std::move(yaml), *this; }
  FieldBuilder& required() { return field_->required = true, *this; }
  // One of the two is needed.
  FieldBuilder& required_unless(std::string key) { return field_->required_unless = std::move(key), required(); }
  FieldBuilder& range(double low, double high) { return field_->low = low, field_->high = high, *this; }  // inclusive
  FieldBuilder& above(double low) { return field_->low = low, field_->low_open = true, *this; }           // exclusive
  FieldBuilder& allowed(std::string words) { return field_->allowed = std::move(words), *this; }  // for messages
  FieldBuilder& unset(std::string word) { return field_->unset_word = std::move(word), *this; }
  FieldBuilder& one_or_many() { return field_->one_or_many = true, *this; }  // a list field also takes one bare value
  FieldBuilder& positional() { return field_->positional = true, *this; }  // rows may be lists, in the order of fields
  FieldBuilder& later_choice(std::string name) { return field_->choices.push_back({std::move(name), true}), *this; }
  FieldBuilder& unit(Unit unit) { return field_->unit = unit, *this; }  // of a bound Quantity
  FieldBuilder& choices(const std::vector<std::string>& names) {        // of a bound Choice
    for (const std::string& name : names) field_->choices.push_back({name, false});
    return *this;
  }
  // `show` leaves the field out where the condition does not hold.
  template <class T>
  FieldBuilder& shown_if(bool (*condition)(const T&)) {
    field_->shown = [condition](const void* t) { return condition(*static_cast<const T*>(t)); };
    return *this;
  }

 private:
  FieldInfo* field_;
};

template <class T>
class FieldTable {
 public:
  explicit FieldTable(std::string kind) { info_.kind = std::move(kind); }
  const TableInfo& info() const { return info_; }

  template <class Access>
  FieldBuilder text(std::string key, Access access) {
    return scalar(std::move(key), FieldType::Text, access);
  }
  template <class Access>
  FieldBuilder texts(std::string key, Access access) {
    return list(std::move(key), FieldType::Text, access);
  }
  template <class Access>
  FieldBuilder integer(std::string key, Access access) {
    return scalar(std::move(key), FieldType::Integer, access);
  }
  template <class Access>
  FieldBuilder integers(std::string key, Access access) {
    return list(std::move(key), FieldType::Integer, access);
  }
  template <class Access>
  FieldBuilder number(std::string key, Access access) {
    return scalar(std::move(key), FieldType::Number, access);
  }
  template <class Access>
  FieldBuilder flag(std::string key, Access access) {
    return scalar(std::move(key), FieldType::Boolean, access);
  }
  // A member that is double (SI) or std::int64_t (Bytes only).
  template <class Access>
  FieldBuilder quantity(std::string key, Unit unit, Access access) {
    FieldBuilder builder = scalar(std::move(key), FieldType::Quantity, access);
    info_.fields.back().unit = unit;
    info_.fields.back().low = 0;
    return builder;
  }
  // A version in quotes, `"2.10"`: std::string or double member.
  template <class Access>
  FieldBuilder version(std::string key, Access access) {
    return scalar(std::move(key), FieldType::Version, access);
  }
  template <class Access, class E = value_of<T, Access>>
  FieldBuilder choice(std::string key, Access access, std::vector<std::pair<std::string, E>> choices) {
    FieldInfo& f = add(std::move(key), FieldType::Choice);
    for (const auto& [name, value] : choices) f.choices.push_back({name, false});
    f.assign = [access, choices](void* t, const Scalars& s) {
      member<T>(access, t) = choice_value(choices, s.front());
    };
    f.fetch = [access, choices](const void* t) -> std::optional<Scalars> {
      return Scalars{choice_name(choices, member<T>(access, t))};
    };
    return FieldBuilder(f);
  }
  // A list of choices (std::vector<E>).
  template <class Access, class E = typename value_of<T, Access>::value_type>
  FieldBuilder choice_list(std::string key, Access access, std::vector<std::pair<std::string, E>> choices) {
    FieldInfo& f = add(std::move(key), FieldType::Choice);
    f.list = true;
    for (const auto& [name, value] : choices) f.choices.push_back({name, false});
    f.assign = [access, choices](void* t, const Scalars& s) {
      auto& target = member<T>(access, t);
      target.clear();
      for (const Scalar& one : s) target.push_back(choice_value(choices, one));
    };
    f.fetch = [access, choices](const void* t) -> std::optional<Scalars> {
      Scalars names;
      for (const E& one : member<T>(access, t)) names.push_back(choice_name(choices, one));
      return names;
    };
    return FieldBuilder(f);
  }
  // A choice with one live value and no member: the others come later.
  FieldBuilder only(std::string key, std::string value, std::vector<std::string> later) {
    FieldInfo& f = add(std::move(key), FieldType::Choice);
    f.choices.push_back({value, false});
    for (std::string& name : later) f.choices.push_back({std::move(name), true});
    f.assign = [](void*, const Scalars&) {};
    f.fetch = [value](const void*) -> std::optional<Scalars> { return Scalars{value}; };
    return FieldBuilder(f);
  }
  // A list of maps, each read by `row_table` (which must outlive this one) into a std::vector<Row>.
  template <class Access, class Row = typename value_of<T, Access>::value_type>
  FieldBuilder rows(std::string key, Access access, const FieldTable<Row>& row_table) {
    FieldInfo& f = add(std::move(key), FieldType::Rows);
    f.list = true;
    f.row_table = &row_table.info();
    f.clear_rows = [access](void* t) { member<T>(access, t).clear(); };
    f.add_row = [access](void* t) -> void* { return &member<T>(access, t).emplace_back(); };
    f.fetch_rows = [access](const void* t) {
      std::vector<const void*> all;
      for (const Row& row : member<T>(access, t)) all.push_back(&row);
      return all;
    };
    return FieldBuilder(f);
  }
  // A value that no reference reaches (part of an optional struct, an entry of a map). `set` gets one scalar of the
  // type's kind (none at all = the unset word); `get` returns nothing when it is not set.
  FieldBuilder bound(std::string key, FieldType type, std::function<void(T&, const Scalars&)> set,
                     std::function<std::optional<Scalars>(const T&)> get) {
    FieldInfo& f = add(std::move(key), type);
    f.assign = [set](void* t, const Scalars& s) { set(*static_cast<T*>(t), s); };
    f.fetch = [get](const void* t) { return get(*static_cast<const T*>(t)); };
    return FieldBuilder(f);
  }
  // Anything else: `read` gets the value as it stands and returns an Error without place on trouble (nothing when
  // fine); `print` gives YAML text (flow style), or nothing when there is no value to show.
  FieldBuilder custom(std::string key, std::function<std::optional<Error>(T&, const Value&)> read,
                      std::function<std::optional<std::string>(const T&)> print) {
    FieldInfo& f = add(std::move(key), FieldType::Custom);
    f.read_custom = [read](void* t, const Value& value) { return read(*static_cast<T*>(t), value); };
    f.print_custom = [print](const void* t) { return print(*static_cast<const T*>(t)); };
    return FieldBuilder(f);
  }
  // Known, refused by name whatever its value (kind not_supported). May be a whole group.
  FieldBuilder later(std::string key, std::string doc) {
    FieldInfo& f = add(std::move(key), FieldType::Later);
    f.doc = std::move(doc);
    return FieldBuilder(f);
  }
  // Accepted and not looked at (a file's read-only part).
  FieldBuilder ignored(std::string key, std::string doc) {
    FieldInfo& f = add(std::move(key), FieldType::Ignored);
    f.doc = std::move(doc);
    return FieldBuilder(f);
  }

  // A value where the map `group` is needed is short for the group's first key; here such a value is an error.
  void no_shorthand(std::string group) { info_.no_shorthand.push_back(std::move(group)); }
  // A list where one value is needed means a sweep (scenarios): its values are checked, then it is refused with this.
  void refuse_sweeps(std::string message, std::string hint) {
    info_.sweep_message = std::move(message);
    info_.sweep_hint = std::move(hint);
  }
  // A rule over several keys. Runs when every one of `keys` was read without error.
  void check(std::vector<std::string> keys, std::function<void(const T&, TableCheck&)> rule) {
    info_.rules.push_back(
        {std::move(keys), [rule](const void* t, TableCheck& c) { rule(*static_cast<const T*>(t), c); }});
  }

  // Reads a whole file. `start` holds the defaults. `reading` (optional) keeps where each key came from.
  Expected<T> read(const Document& document, Reading* reading = nullptr, T start = T{}) const {
    Reading local;
    Reading& r = reading ? *reading : local;
    read_into(document, start, r);
    if (!r.errors.empty()) return tl::make_unexpected(in_file_order(r.errors));
    return start;
  }
  // For readers with checks of their own: errors stay in `reading`, what was sound is in `target`.
  void read_into(const Document& document, T& target, Reading& reading) const {
    read_table(info_, document, &target, reading);
  }
  // Every value as it is now, in the order of the table; origins from the Reading that read it.
  std::vector<ResolvedField> resolved(const T& value, const Reading& reading) const {
    return resolved_fields(info_, &value, reading);
  }

 private:
  FieldInfo& add(std::string key, FieldType type) {
    LOCKSTEP_ENSURE(!info_.find(key), "key {} declared twice", key);
    FieldInfo field;
    field.key = std::move(key);
    field.type = type;
    info_.fields.push_back(std::move(field));
    return info_.fields.back();
  }
  template <class V>
  static void set_integer_limits(FieldInfo& f) {
    if constexpr (std::is_integral_v<V> && !std::is_same_v<V, bool>) {
      f.integral = true;
      f.integer_max = sizeof(V) < sizeof(std::int64_t) ? std::int64_t{std::numeric_limits<int>::max()}
                                                       : std::numeric_limits<std::int64_t>::max();
      f.integer_min = std::is_unsigned_v<V> ? 0 : -f.integer_max;
    }
  }
  template <class Access>
  FieldBuilder scalar(std::string key, FieldType type, Access access) {
    FieldInfo& f = add(std::move(key), type);
    set_integer_limits<value_inside<T, Access>>(f);
    f.assign = [access](void* t, const Scalars& s) {
      auto& target = member<T>(access, t);
      if (s.empty()) {
        target = value_of<T, Access>{};
        return;
      }
      target = from_scalar<value_inside<T, Access>>(s.front());
    };
    f.fetch = [access](const void* t) -> std::optional<Scalars> {
      const auto& source = member<T>(access, t);
      if constexpr (is_optional<value_of<T, Access>>) {
        if (!source) return std::nullopt;
        return Scalars{to_scalar(*source)};
      } else {
        return Scalars{to_scalar(source)};
      }
    };
    return FieldBuilder(f);
  }
  template <class Access>
  FieldBuilder list(std::string key, FieldType type, Access access) {
    using E = typename value_of<T, Access>::value_type;
    FieldInfo& f = add(std::move(key), type);
    f.list = true;
    set_integer_limits<E>(f);
    f.assign = [access](void* t, const Scalars& s) {
      auto& target = member<T>(access, t);
      target.clear();
      for (const Scalar& one : s) target.push_back(from_scalar<E>(one));
    };
    f.fetch = [access](const void* t) -> std::optional<Scalars> {
      Scalars all;
      for (const E& one : member<T>(access, t)) all.push_back(to_scalar(one));
      return all;
    };
    return FieldBuilder(f);
  }

  TableInfo info_;
};

}  // namespace lockstep
