#include "gui/charts/data_table.h"

#include <QHeaderView>
#include <QTableWidget>

#include "simulator/result/csv.h"

namespace lockstep::gui {
namespace {

QString line_of(const QStringList& cells) {
  QStringList fields;
  for (const QString& cell : cells) fields << QString::fromStdString(csv_field(cell.toStdString()));
  return fields.join(',') + '\n';
}

}  // namespace

QString DataTable::csv() const {
  QString out = line_of(header);
  for (const QStringList& row : rows) out += line_of(row);
  return out;
}

void fill(QTableWidget& widget, const DataTable& table) {
  widget.clear();
  widget.setColumnCount(static_cast<int>(table.header.size()));
  widget.setRowCount(static_cast<int>(table.rows.size()));
  widget.setHorizontalHeaderLabels(table.header);
  for (int row = 0; row < widget.rowCount(); ++row) {
    const QStringList& cells = table.rows[static_cast<std::size_t>(row)];
    for (int column = 0; column < cells.size(); ++column) {
      auto* item = new QTableWidgetItem(cells[column]);
      bool number = false;
      cells[column].toDouble(&number);
      item->setTextAlignment((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
      widget.setItem(row, column, item);
    }
  }
  widget.resizeColumnsToContents();
}

}  // namespace lockstep::gui
