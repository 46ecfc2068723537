// The start page: questions to begin with, each with its answer, and the files that were open before.
#pragma once

#include <QAbstractButton>
#include <QWidget>

#include "gui/document/gallery.h"

class QPainter;
class QVBoxLayout;

namespace lockstep::gui {

// One question as a button: what it asks, how it turned out, what to try and to notice.
class CardButton : public QAbstractButton {
  Q_OBJECT

 public:
  explicit CardButton(const GalleryCard& card, QWidget* parent = nullptr);
  void show_answer(std::shared_ptr<const Result> answer);
  QSize sizeHint() const override { return {300, heightForWidth(300)}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Piece {
    QString text;
    QFont font;
    QColor colour;
    qreal space_before;
  };
  std::vector<Piece> pieces() const;
  void draw_lines(QPainter& painter, const QRectF& area) const;

  GalleryCard card_;
  std::shared_ptr<const Result> answer_;
};

class GalleryPage : public QWidget {
  Q_OBJECT

 public:
  explicit GalleryPage(QWidget* parent = nullptr);
  void show_recent(const QStringList& files);
  const std::vector<GalleryCard>& cards() const { return cards_; }
  CardButton* button(std::size_t index) { return buttons_[index]; }

 signals:
  void chosen(const lockstep::gui::GalleryCard& card);
  void file_chosen(const QString& path);

 private:
  void load_next_answer();

  std::vector<GalleryCard> cards_;
  std::vector<CardButton*> buttons_;
  QWidget* recent_ = nullptr;
  QVBoxLayout* recent_column_ = nullptr;
  std::size_t next_answer_ = 0;
};

}  // namespace lockstep::gui
