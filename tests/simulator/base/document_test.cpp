#include "simulator/base/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace lockstep {
namespace {

using testing::HasSubstr;

Document good(std::string_view text) {
  const Expected<Document> document = parse_document(text, "x.yaml");
  EXPECT_TRUE(document) << (document ? "" : to_text(document.error().front()));
  return document ? *document : Document{};
}

TEST(Document, EveryValueKnowsItsTextItsQuotesAndItsPlace) {
  const Document d = good("a: 010\nb:\n  c: \"x: y\"\n  \xc3\xa9: [1, two]\n");
  ASSERT_NE(d.root.find("a"), nullptr);
  EXPECT_EQ(d.root.find("a")->text, "010");
  EXPECT_FALSE(d.root.find("a")->quoted);
  const Value& c = *d.root.find("b")->find("c");
  EXPECT_EQ(c.text, "x: y");
  EXPECT_TRUE(c.quoted);
  EXPECT_EQ(c.origin.line, 3);
  EXPECT_EQ(c.origin.column, 6);
  EXPECT_EQ(to_text(c.origin), "x.yaml:3");
  const Value& list = *d.root.find("b")->find("\xc3\xa9");
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[1].origin.column, 11);  // bytes, not characters
}

TEST(Document, JsonIsReadToo) {
  const Document d = good("{\"a\": 1,\n\t\"b\": [true, null]}");
  EXPECT_EQ(d.root.find("a")->text, "1");
  EXPECT_EQ(d.root.find("b")->items[1].kind, Value::Kind::Null);
  EXPECT_EQ(d.root.find("b")->items[1].text, "null");
}

TEST(Document, AMissingValueIsNullAtItsKey) {
  const Document d = good("a:\nnull: 3\nb: ~\n");
  EXPECT_EQ(d.root.find("a")->kind, Value::Kind::Null);
  EXPECT_EQ(d.root.find("a")->text, "");
  EXPECT_EQ(d.root.find("a")->origin.line, 1);
  EXPECT_EQ(d.root.find("null")->text, "3");
  EXPECT_EQ(d.root.find("b")->text, "~");
}

TEST(Document, ADottedKeyIsTheNestedOne) {
  const Document d = good("a.b.c: 1\na: {d: 2}\na.b.e: 3\n");
  EXPECT_TRUE(d.problems.empty());
  EXPECT_EQ(to_flow_yaml(d.root), "{a: {b: {c: 1, e: 3}, d: 2}}");
}

TEST(Document, ADottedKeyExtendsABareValueByShorthand) {
  const Document d = good("topology: dgx\ntopology.fabric: ib\n");
  EXPECT_TRUE(d.problems.empty());
  ASSERT_EQ(d.root.find("topology")->entries.size(), 2u);
  EXPECT_EQ(d.root.find("topology")->entries[0].key, "");
  EXPECT_EQ(d.root.find("topology")->entries[0].value.text, "dgx");
}

TEST(Document, AKeyGivenTwiceIsAProblemWithBothPlaces) {
  const Document d = good("a: 1\nb: 2\na: 3\nc: {x: 1, x: 2}\nd.e: 1\nd: {e: 2}\n");
  ASSERT_EQ(d.problems.size(), 3u);
  EXPECT_EQ(d.problems[0].line, 3);
  EXPECT_EQ(d.problems[0].key, "a");
  EXPECT_EQ(d.problems[0].message, "the key is given twice, first in line 1");
  EXPECT_EQ(d.problems[1].key, "c.x");
  EXPECT_EQ(d.problems[2].key, "d.e");
  EXPECT_EQ(d.problems[2].line, 6);
}

TEST(Document, AliasesAndAnchorsAreProblems) {
  const Document d = good("a: &x 1\nb: *x\n");
  ASSERT_EQ(d.problems.size(), 2u);
  EXPECT_THAT(d.problems[0].message, HasSubstr("anchors"));
  EXPECT_THAT(d.problems[1].message, HasSubstr("aliases"));
  EXPECT_EQ(d.problems[1].line, 2);
}

TEST(Document, AMergeKeyIsAnOrdinaryKey) {
  EXPECT_NE(good("<<: {a: 1}\n").root.find("<<"), nullptr);
}

struct Bad {
  const char* text;
  int line;
  const char* message;
};
class BadDocument : public testing::TestWithParam<Bad> {};

TEST_P(BadDocument, IsRefusedWithPlaceAndReason) {
  const Expected<Document> document = parse_document(GetParam().text, "x.yaml");
  ASSERT_FALSE(document) << to_yaml(document->root);
  const Error& error = document.error().back();
  EXPECT_EQ(error.kind, ErrorKind::Syntax);
  EXPECT_EQ(error.file, "x.yaml");
  EXPECT_EQ(error.line, GetParam().line);
  EXPECT_THAT(error.message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Traps, BadDocument,
    testing::Values(Bad{"", 1, "the file is empty"}, Bad{"# only a comment\n", 1, "the file is empty"},
                    Bad{"a: 1\nb: \"open\nc: 2\n", 2, "the quote that opens here is never closed"},
                    Bad{"a: 'it''s\n", 1, "the quote that opens here is never closed"},
                    Bad{"a: 1\n\tb: 2\n", 2, "a tab indents this line"},
                    Bad{"a:\n\t- 1\n", 2, "a tab indents this line"}, Bad{"a: 1\n---\nb: 2\n", 2, "several documents"},
                    Bad{"a: *nowhere\n", 1, "anchor is not defined"},
                    Bad{"question: why: because\n", 1, "not valid YAML"},
                    Bad{"a: [1\nb: 2\n", 2, "end of sequence flow"},
                    Bad{"? [a, b]\n: 1\n", 1, "a list or a map stands where a key is needed"},
                    Bad{"a: 1\nb: \xff\xfe\n", 2, "not valid UTF-8"}, Bad{"a: \xc0\xaf\n", 1, "not valid UTF-8"},
                    Bad{"a: \xed\xa0\x80\n", 1, "not valid UTF-8"}, Bad{"a: x\x01y\n", 1, "a control character"}));

TEST(Document, NulBytesAreRefused) {
  const Expected<Document> document = parse_document(std::string_view("a: 1\nb\0: 2\n", 11), "x.yaml");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().front().line, 2);
  EXPECT_EQ(document.error().front().column, 2);
}

TEST(Document, NestingSizeAndNumberOfValuesAreLimited) {
  DocumentLimits limits;
  limits.depth = 4;
  EXPECT_TRUE(parse_document("a: [[[1]]]\n", "x", limits));
  EXPECT_FALSE(parse_document("a: [[[[1]]]]\n", "x", limits));
  EXPECT_FALSE(parse_document(std::string(100000, '['), "x"));
  EXPECT_FALSE(parse_document(std::string(100000, '{'), "x"));
  limits.bytes = 10;
  EXPECT_FALSE(parse_document("a: 1234567890\n", "x", limits));
  limits = {};
  limits.values = 10;
  EXPECT_FALSE(parse_document("[1,2,3,4,5,6,7,8,9,10,11]", "x", limits));
  std::string keys;
  for (int i = 0; i < 6000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  EXPECT_FALSE(parse_document(keys, "x"));
}

TEST(Document, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(good("\xEF\xBB\xBF"
                 "a: 1\n")
                .root.find("a")
                ->text,
            "1");
}

TEST(Document, WindowsLineEndsAreRead) {
  const Document d = good("a: 1\r\nb: x\r\n");
  EXPECT_EQ(d.root.find("a")->text, "1");
  EXPECT_EQ(d.root.find("b")->text, "x");
  EXPECT_EQ(d.root.find("b")->origin.line, 2);
}

TEST(Set, ReplacesAddsAndExtends) {
  Document d = good("a: 1\nt: x\nm: {k: 1, l: 2}\n");
  for (const char* set : {"a=2", "new.deep.key=[1, 2]", "t.fabric=ib", "m.k=7", " s = text "})
    EXPECT_TRUE(apply_set(d, set)) << set;
  EXPECT_EQ(d.root.find("a")->text, "2");
  EXPECT_EQ(d.root.find("a")->origin.from, Origin::From::Set);
  EXPECT_EQ(to_text(d.root.find("a")->origin), "--set");
  EXPECT_EQ(to_flow_yaml(*d.root.find("new")), "{deep: {key: [1, 2]}}");
  EXPECT_EQ(d.root.find("t")->entries[0].value.text, "x");
  EXPECT_EQ(d.root.find("t")->find("fabric")->text, "ib");
  EXPECT_EQ(to_flow_yaml(*d.root.find("m")), "{k: 7, l: 2}");
  EXPECT_EQ(d.root.find("s")->text, "text");
}

TEST(Set, TheLastOneWins) {
  Document d = good("a: 1\n");
  ASSERT_TRUE(apply_set(d, "a.b=1"));
  ASSERT_TRUE(apply_set(d, "a=3"));
  EXPECT_EQ(to_flow_yaml(d.root), "{a: 3}");
}

TEST(Set, BadArgumentsAreRefused) {
  for (const char* set : {"a", "=1", "a..b=1", "a=[1", "a=\"open", "a=b: c: d", "a=\xff", "a=*x", ""}) {
    Document d = good("a: 1\n");
    const auto result = apply_set(d, set);
    ASSERT_FALSE(result) << set;
    EXPECT_EQ(result.error().front().kind, ErrorKind::Syntax) << set;
    EXPECT_EQ(result.error().front().file, "--set") << set;
    EXPECT_EQ(result.error().front().line, 0) << set;
    EXPECT_EQ(to_flow_yaml(d.root), "{a: 1}");
  }
  Document d = good("a: 1\n");
  EXPECT_FALSE(apply_set(d, std::string(100000, '.') + "=1"));
  std::string deep = "a";
  for (int i = 0; i < 100000; ++i) deep += ".a";
  EXPECT_FALSE(apply_set(d, deep + "=1"));
}

TEST(Yaml, TextIsQuotedWhereItWouldReadAsSomethingElse) {
  for (const char* plain : {"resnet50", "Why do eight GPUs not train faster?", "a/b.yaml", "dgx-a100-80gb"})
    EXPECT_EQ(yaml_scalar(plain), plain);
  for (const char* text :
       {"",      "true",        "null", "~",        "1.5",  "010",   "a: b", "a #b", "- x", " x",  "x ",
        "[a]",   "{a}",         "*x",   "&x",       "!x",   "\"q\"", "'q'",  "%x",   "@x",  "`x`", "line\nbreak",
        "tab\t", "back\\slash", "a, b", "\xc3\xa9", "\x7f", "yes",   "1e3",  "?x",   "a:"}) {
    const std::string yaml = "k: " + yaml_scalar(text) + "\nl: {m: " + yaml_scalar(text) + "}\n";
    const Expected<Document> back = parse_document(yaml, "x");
    ASSERT_TRUE(back) << yaml;
    EXPECT_EQ(back->root.find("k")->text, text) << yaml;
    EXPECT_EQ(back->root.find("l")->find("m")->text, text) << yaml;
    EXPECT_EQ(back->root.find("k")->quoted, true) << yaml;
  }
}

TEST(Yaml, BlockTextReadsBackTheSame) {
  const Document d = good("a: {b: [1, 2], c: {d: \"1\"}}\ne: x\n");
  const std::string yaml = to_yaml(d.root);
  EXPECT_EQ(yaml, "a:\n  b: [1, 2]\n  c:\n    d: \"1\"\ne: x\n");
  EXPECT_EQ(to_flow_yaml(good(yaml).root), to_flow_yaml(d.root));
}

TEST(TextFile, MissingFolderAndLargeFilesAreIoErrors) {
  EXPECT_EQ(read_text_file("/no/such/file.yaml").error().front().message, "there is no such file");
  EXPECT_EQ(read_text_file("/tmp").error().front().kind, ErrorKind::Io);
  const std::string path = testing::TempDir() + "lockstep_large.yaml";
  std::ofstream(path) << std::string(5000, 'x');
  EXPECT_TRUE(read_text_file(path));
  EXPECT_EQ(read_text_file(path, 1000).error().front().kind, ErrorKind::Range);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace lockstep
