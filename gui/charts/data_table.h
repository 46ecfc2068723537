// The numbers behind a chart, for the table beside it and for CSV.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

class QTableWidget;

namespace lockstep::gui {

struct DataTable {
  QStringList header;  // with units
  std::vector<QStringList> rows;
  QString csv() const;  // RFC 4180, lines end in LF
};

// Fills a table widget; numbers to the right.
void fill(QTableWidget& widget, const DataTable& table);

}  // namespace lockstep::gui
