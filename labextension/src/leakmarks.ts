/** The save guard's findings, as a line at each cell that has one, with a button that redacts its outputs (SPEC 8.4). */

import { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { Event } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { PanelLayout, Widget } from '@lumino/widgets';

import { CellLeaks, Leak, Look, SCHEMA, isInOutput, readLook } from './leaks';
import { Requests } from './request';

const LINE = 'mcc-leak';

export class LeakMarks {
  constructor(
    private readonly tracker: INotebookTracker,
    private readonly requests: Requests,
    private readonly trans: TranslationBundle
  ) {
    tracker.widgetAdded.connect((_, panel) => this.follow(panel));
    tracker.forEach(panel => this.follow(panel));
  }

  set isOn(on: boolean) {
    if (on !== this._isOn) {
      this._isOn = on;
      this.tracker.forEach(panel => (on ? this.ask(panel) : this.draw(panel, null)));
    }
  }

  /** Takes an event of the server, ours or another. */
  hear(emission: Event.Emission): void {
    const look = emission.schema_id === SCHEMA ? readLook(emission) : null;
    if (look !== null && this._isOn) {
      this.tracker.forEach(panel => {
        if (pathOf(panel) === look.path) {
          this.draw(panel, look);
        }
      });
    }
  }

  private follow(panel: NotebookPanel): void {
    void panel.context.ready.then(() => this._isOn && this.ask(panel));
  }

  /** What the last save found: an event comes only when that changes, and this page may be younger. */
  private ask(panel: NotebookPanel): void {
    void this.requests.findings(pathOf(panel)).then(
      look => look !== null && look.cells.size > 0 && this.draw(panel, look),
      () => undefined // Without our side of the server there are no findings either; the panel says that.
    );
  }

  private draw(panel: NotebookPanel, look: Look | null): void {
    for (const cell of panel.content.widgets) {
      const found = look?.cells.get(cell.model.id) ?? null;
      this._lines.get(cell)?.dispose();
      this._lines.delete(cell);
      if (found !== null) {
        void cell.ready.then(() => this.add(panel, cell, found));
      }
    }
  }

  private add(panel: NotebookPanel, cell: Cell, found: CellLeaks): void {
    if (cell.isDisposed || this._lines.has(cell) || !(cell.layout instanceof PanelLayout)) {
      return;
    }
    const line = this.line(panel, cell, found);
    const input = cell.layout.widgets.findIndex(widget => widget.hasClass('jp-Cell-inputWrapper'));
    cell.layout.insertWidget(input + 1, line);
    this._lines.set(cell, line);
  }

  private line(panel: NotebookPanel, cell: Cell, found: CellLeaks): Widget {
    const { trans } = this;
    const line = new Widget();
    line.addClass(LINE);
    line.node.setAttribute('role', 'status');
    const said = document.createElement('span');
    said.textContent = this.sentence(found);
    line.node.append(said);
    if (cell instanceof CodeCell && isInOutput(found)) {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'jp-mod-styled jp-mod-minimal';
      button.textContent = trans.__('Redact output');
      button.addEventListener('click', () => {
        button.disabled = true;
        void this.redact(panel, cell).then(
          () => {
            button.remove();
            said.textContent = trans.__('The output is redacted here. Save the notebook to redact the file too.');
          },
          (error: unknown) => {
            button.disabled = false;
            said.textContent = trans.__('Not redacted: %1', error instanceof Error ? error.message : String(error));
          }
        );
      });
      line.node.append(button);
    }
    return line;
  }

  private async redact(panel: NotebookPanel, cell: CodeCell): Promise<void> {
    const { outputs } = cell.model;
    const redacted = await this.requests.redacted(pathOf(panel), outputs.toJSON());
    if (!cell.isDisposed) {
      outputs.fromJSON(redacted as unknown as ReturnType<typeof outputs.toJSON>);
    }
  }

  private sentence(found: CellLeaks): string {
    const { trans } = this;
    const places = found.leaks.map(leak => this.place(leak)).join('; ');
    switch (found.outcome) {
      case 'redacted':
        return trans.__('%1: redacted in the file, and still shown here', places);
      case 'refused':
        return trans.__('%1: not saved', places);
      case 'told':
        return trans.__('%1: saved all the same', places);
    }
  }

  private place(leak: Leak): string {
    const { trans } = this;
    return leak.output > 0
      ? trans.__('Output %1 holds %2', leak.output, leak.what)
      : leak.part === 'source'
        ? trans.__('The source holds %1; take it out', leak.what)
        : trans.__('%1 of the cell: %2', leak.part, leak.what);
  }

  private _isOn = false;
  private readonly _lines = new Map<Cell, Widget>();
}

/** As the server names it, without the name of a drive. */
function pathOf(panel: NotebookPanel): string {
  return panel.context.localPath;
}
