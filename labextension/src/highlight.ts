/** The colours of a magic cell's body: its editor is told YAML or shell instead of Python. Nothing is stored. */

import { Cell, CodeCell } from '@jupyterlab/cells';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

import { MIME, language } from './magic';

export class Highlighter {
  constructor(
    private readonly tracker: INotebookTracker,
    private readonly languages: IEditorLanguageRegistry
  ) {
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
    if (!(cell instanceof CodeCell) || this.wanted(cell) === null) {
      this.restore(panel, cell);
      return;
    }
    // An editor takes the language whose file arrives last: the notebook's own has to be there before ours is asked for.
    void this.languages.getLanguage(panel.content.codeMimetype).then(() => {
      const wanted = cell.isDisposed ? null : this.wanted(cell);
      if (wanted !== null && cell.model.mimeType !== wanted) {
        cell.model.mimeType = wanted;
      }
    });
  }

  private wanted(cell: CodeCell): string | null {
    const found = this._isOn ? language(cell.model.sharedModel.getSource()) : null;
    return found === null ? null : MIME[found];
  }

  private restore(panel: NotebookPanel, cell: Cell): void {
    if (cell instanceof CodeCell && Object.values(MIME).includes(cell.model.mimeType)) {
      cell.model.mimeType = panel.content.codeMimetype;
    }
  }

  private _isOn = false;
  private readonly _watched = new WeakSet<Cell>();
}
