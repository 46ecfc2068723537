#include "simulator/base/field_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::HasSubstr;

enum class Kind { Fast, Slow };
struct Part {
  int a = 0, b = 0, count = 1;
};
struct Machine {
  std::string name, note;
  Kind kind = Kind::Fast;
  std::optional<double> factor;
  std::int64_t memory = 1024;
  double rate = 1e9;
  bool on = true;
  std::vector<int> sizes = {1};
  std::vector<Part> parts;
  std::string version = "2.10";
};

const FieldTable<Part>& part_fields() {
  static const FieldTable<Part> table = [] {
    FieldTable<Part> t("part");
    t.integer("a", &Part::a).required().range(0, 9);
    t.integer("b", &Part::b).required().range(0, 9);
    t.integer("count", &Part::count);
    t.check({"a", "b"}, [](const Part& p, TableCheck& c) {
      if (p.a == p.b) c.fail(ErrorKind::Conflict, "b", "both ends are the same");
    });
    return t;
  }();
  return table;
}

const FieldTable<Machine>& fields() {
  static const FieldTable<Machine> table = [] {
    FieldTable<Machine> t("machine");
    t.text("name", &Machine::name).required().doc("Its name");
    t.text("note", &Machine::note).unset("none");
    t.choice("kind", &Machine::kind, {{"fast-one", Kind::Fast}, {"slow", Kind::Slow}}).later_choice("huge");
    t.number("host.factor", &Machine::factor).above(0).unset("auto");
    t.quantity("host.memory", Unit::Bytes, &Machine::memory).range(1, 1e12);
    t.quantity("host.rate", Unit::BytesPerSecond, &Machine::rate);
    t.flag("on", &Machine::on);
    t.integers("sizes", &Machine::sizes).one_or_many().range(1, 100);
    t.rows("parts", &Machine::parts, part_fields()).positional();
    t.version("version", &Machine::version);
    t.later("loader", "Later");
    t.ignored("derived", "Read-only");
    return t;
  }();
  return table;
}

Expected<Machine> read(std::string_view text, Reading* reading = nullptr) {
  const Expected<Document> document = parse_document(text, "m.yaml");
  if (!document) return tl::make_unexpected(document.error());
  return fields().read(*document, reading);
}

std::vector<std::string> errors(std::string_view text) {
  std::vector<std::string> out;
  const Expected<Machine> machine = read(text);
  if (machine) return out;
  for (const Error& e : machine.error())
    out.push_back(std::string(name_of(e.kind)) + " " + std::to_string(e.line) + " " + e.key);
  return out;
}

TEST(FieldTable, ReadsValuesAndKeepsTheStructsDefaults) {
  const Expected<Machine> m =
      read("name: x\nkind: FAST_ONE\nhost: {memory: 2KiB}\nsizes: 4\nderived: {any: [thing]}\n");
  ASSERT_TRUE(m) << to_text(m.error().front());
  EXPECT_EQ(m->name, "x");
  EXPECT_EQ(m->kind, Kind::Fast);
  EXPECT_EQ(m->memory, 2048);
  EXPECT_EQ(m->rate, 1e9);
  EXPECT_FALSE(m->factor);
  EXPECT_EQ(m->sizes, std::vector<int>{4});
}

TEST(FieldTable, AllErrorsComeAtOnceInFileOrder) {
  EXPECT_EQ(
      errors("kind: huge\nhost:\n  memroy: 1GB\n  rate: 5\non: yes\nsizes: [1, 200, x]\nsizes: [1]\nloader: {a: 1}\n"),
      (std::vector<std::string>{"not_supported 1 kind", "unknown_key 3 host.memroy", "unit 4 host.rate", "type 5 on",
                                "range 6 sizes", "type 6 sizes", "conflict 7 sizes", "not_supported 8 loader",
                                "missing 0 name"}));
}

TEST(FieldTable, RowsAreMapsOrListsByPosition) {
  const Expected<Machine> m = read("name: x\nparts: [{a: 0, b: 1}, [1, 2, 3]]\n");
  ASSERT_TRUE(m) << to_text(m.error().front());
  ASSERT_EQ(m->parts.size(), 2u);
  EXPECT_EQ(m->parts[0].count, 1);
  EXPECT_EQ(m->parts[1].b, 2);
  EXPECT_EQ(m->parts[1].count, 3);
  EXPECT_EQ(errors("name: x\nparts:\n- {a: 0}\n- [1, 2, 3, 4]\n- [3, 3]\n- {a: 1, b: 99}\n- {a: 1, c: 2}\n- 7\n"),
            (std::vector<std::string>{"missing 3 parts[0].b", "type 4 parts[1]", "conflict 5 parts[2].b",
                                      "range 6 parts[3].b", "missing 7 parts[4].b", "unknown_key 7 parts[4].c",
                                      "type 8 parts[5]"}));
}

TEST(FieldTable, AValueForAMapIsShortForTheFirstKey) {
  const Expected<Machine> m = read("name: x\nhost: 0.5\n");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->factor, 0.5);
}

TEST(FieldTable, TheWordForUnsetIsReadAndPrinted) {
  Reading reading;
  const Expected<Machine> m = read("name: x\nhost: {factor: Auto}\nnote: none\n", &reading);
  ASSERT_TRUE(m);
  EXPECT_FALSE(m->factor);
  EXPECT_EQ(m->note, "");
  const std::string yaml = resolved_yaml(fields().resolved(*m, reading));
  EXPECT_THAT(yaml, HasSubstr("  factor: auto"));
  EXPECT_THAT(yaml, HasSubstr("note: none"));
}

TEST(FieldTable, WhatItPrintsReadsBackTheSame) {
  Reading reading;
  const Expected<Machine> m =
      read("name: \"yes\"\nkind: slow\nhost: {memory: 3B, rate: 12.34567GB/s}\nparts: [[1, 2, 3]]\nsizes: [3, 4]\n",
           &reading);
  ASSERT_TRUE(m);
  const std::string yaml = resolved_yaml(fields().resolved(*m, reading));
  const Expected<Machine> back = read(yaml);
  ASSERT_TRUE(back) << to_text(back.error().front()) << yaml;
  EXPECT_EQ(back->name, "yes");
  EXPECT_EQ(back->kind, Kind::Slow);
  EXPECT_EQ(back->memory, 3);
  EXPECT_EQ(back->rate, m->rate);
  EXPECT_EQ(back->parts[0].count, 3);
  EXPECT_EQ(back->sizes, m->sizes);
  EXPECT_EQ(back->version, "2.10");
  EXPECT_THAT(yaml, HasSubstr("# m.yaml:2"));
  EXPECT_THAT(yaml, HasSubstr("# default"));
}

TEST(FieldTable, AnUnknownKeyIsLookedForInOtherGroupsToo) {
  const Expected<Machine> m = read("name: x\nmemory: 1GB\n");
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().front().hint, "did you mean `host.memory`?");
}

TEST(FieldTable, AListWhereOneValueBelongsIsATypeErrorUnlessItSweeps) {
  EXPECT_EQ(errors("name: [a, b]\n"), std::vector<std::string>{"type 1 name"});
  EXPECT_EQ(errors("name: x\nhost: {a: 1}\n"), std::vector<std::string>{"unknown_key 2 host.a"});
  EXPECT_EQ(errors("name: {a: 1}\n"), std::vector<std::string>{"type 1 name"});
  EXPECT_EQ(errors("name: x\nhost: [1, 2]\n"), std::vector<std::string>{"type 2 host"});
}

TEST(FieldTable, IntegersFitTheirMember) {
  EXPECT_EQ(errors("name: x\nparts: [{a: 1, b: 2, count: 3000000000}]\n"),
            std::vector<std::string>{"range 2 parts[0].count"});
}

TEST(FieldTable, TheKeysTableShowsDefaultsAndChoices) {
  const Machine defaults;
  const std::string markdown = keys_markdown(fields().info(), &defaults);
  EXPECT_THAT(markdown, HasSubstr("| `name` | a text | required | Its name |"));
  EXPECT_THAT(markdown, HasSubstr("| `kind` | fast-one, slow (later: huge) | `fast-one` |"));
  EXPECT_THAT(markdown, HasSubstr("| `host.memory` | a quantity such as 25MiB from 1B to 1TB | `1KiB` |"));
  EXPECT_THAT(markdown, HasSubstr("| `parts[].a` | a whole number from 0 to 9 | required |"));
}

}  // namespace
}  // namespace lockstep
