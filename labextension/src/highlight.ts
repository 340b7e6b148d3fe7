/** The colours of a magic cell's body: its editor is told YAML or shell instead of Python. Nothing is stored. */

import { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

import { MIME, language } from './magic';

export class Highlighter {
  constructor(private readonly tracker: INotebookTracker) {
    tracker.widgetAdded.connect((_, panel) => this.follow(panel));
    tracker.forEach(panel => this.follow(panel));
  }

  get isOn(): boolean {
    return this._isOn;
  }

  set isOn(on: boolean) {
    if (on !== this._isOn) {
      this._isOn = on;
      this.tracker.forEach(panel => this.colourAll(panel));
    }
  }

  private follow(panel: NotebookPanel): void {
    const all = (): void => this.colourAll(panel);
    void panel.revealed.then(() => {
      panel.model?.cells.changed.connect(all);
      // The notebook gives its cells the kernel's language whenever it learns of it.
      panel.content.modelChanged.connect(all);
      panel.sessionContext.kernelChanged.connect(all);
      all();
    });
  }

  private colourAll(panel: NotebookPanel): void {
    for (const cell of panel.content.widgets) {
      this.watchCell(panel, cell);
      this.colour(panel, cell);
    }
  }

  private watchCell(panel: NotebookPanel, cell: Cell): void {
    if (this._watched.has(cell) || !(cell instanceof CodeCell)) {
      return;
    }
    this._watched.add(cell);
    const one = (): void => this.colour(panel, cell);
    cell.model.contentChanged.connect(one);
    cell.model.mimeTypeChanged.connect(one);
  }

  private colour(panel: NotebookPanel, cell: Cell): void {
    if (!(cell instanceof CodeCell)) {
      return;
    }
    const found = this._isOn ? language(cell.model.sharedModel.getSource()) : null;
    const wanted = found === null ? null : MIME[found];
    if (wanted !== null && cell.model.mimeType !== wanted) {
      cell.model.mimeType = wanted;
    } else if (wanted === null && Object.values(MIME).includes(cell.model.mimeType)) {
      cell.model.mimeType = panel.content.codeMimetype;
    }
  }

  private _isOn = false;
  private readonly _watched = new WeakSet<Cell>();
}
