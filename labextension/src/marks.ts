/** What a declaration's error says, at its line in the editor, until the cell is edited or run again. */

import { CodeCell } from '@jupyterlab/cells';
import { CodeMirrorEditor } from '@jupyterlab/codemirror';
import { NotebookActions } from '@jupyterlab/notebook';
import { Extension, StateEffect, StateField } from '@codemirror/state';
import { Decoration, DecorationSet, EditorView } from '@codemirror/view';

import { language } from './magic';
import { LineProblem, problems } from './problems';

const setProblems = StateEffect.define<readonly LineProblem[]>();

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, transaction) => {
    let next = transaction.docChanged ? Decoration.none : marks;
    for (const effect of transaction.effects) {
      if (effect.is(setProblems)) {
        const lines = effect.value.filter(problem => problem.line <= transaction.state.doc.lines);
        next = Decoration.set(
          lines.map(problem =>
            Decoration.line({
              class: 'mcc-problem',
              attributes: { title: problem.message, 'aria-invalid': 'true', 'data-problem': problem.message }
            }).range(transaction.state.doc.line(problem.line).from)
          )
        );
      }
    }
    return next;
  },
  provide: own => EditorView.decorations.from(own)
});

/** For the editors of cells. */
export const problemMarks: Extension = field;

/** Marks what a cell's run said of its lines, while *isOn*. */
export function markProblems(isOn: () => boolean): void {
  NotebookActions.executed.connect((_, { cell }) => {
    if (isOn() && cell instanceof CodeCell && cell.editor instanceof CodeMirrorEditor) {
      const isOurs = language(cell.model.sharedModel.getSource()) !== null;
      const found = isOurs ? problems(cell.model.outputs.toJSON()) : [];
      cell.editor.editor.dispatch({ effects: setProblems.of(found) });
    }
  });
}
