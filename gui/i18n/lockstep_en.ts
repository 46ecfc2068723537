<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name>lockstep::gui::AnswerBar</name>
    <message numerus="yes">
        <source>and %n more</source>
        <translation>
            <numerusform>and one more</numerusform>
            <numerusform>and %n more</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>lockstep::gui::ExplainView</name>
    <message numerus="yes">
        <source>All-reduces of %1 in %n bucket(s) take %2; computing hides %3 of that.</source>
        <translation>
            <numerusform>All-reduces of %1 in one bucket take %2; computing hides %3 of that.</numerusform>
            <numerusform>All-reduces of %1 in %n buckets take %2; computing hides %3 of that.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>lockstep::gui::MainWindow</name>
    <message numerus="yes">
        <source>%n files written to %1</source>
        <translation>
            <numerusform>one file written to %1</numerusform>
            <numerusform>%n files written to %1</numerusform>
        </translation>
    </message>
</context>
</TS>
