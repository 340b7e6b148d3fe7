/** Commands: each with its label and, where it takes arguments, their schema. */

import { JupyterFrontEnd } from '@jupyterlab/application';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { toolIcon } from './icons';
import { Host } from './panel';

export const COMMANDS = {
  openPanel: 'mcc-jupyter:open-panel',
  load: 'mcc-jupyter:load-extension',
  refresh: 'mcc-jupyter:refresh',
  insertTool: 'mcc-jupyter:insert-tool'
} as const;

const TEMPLATE = `%%mcc_tool
name: hello
description: Says hello
exec: echo hello {{ name | quote }}
params:
  - name: name`;

export interface Wires {
  readonly host: Host;
  readonly tracker: INotebookTracker;
  readonly trans: TranslationBundle;
  readonly panelId: string;
  readonly expandRight: () => void;
}

export function addCommands(app: JupyterFrontEnd, wires: Wires): void {
  const { host, tracker, trans } = wires;
  const hasNotebook = (): boolean => tracker.currentWidget !== null;
  const noArguments = { args: { type: 'object', properties: {}, additionalProperties: false } } as const;
  app.commands.addCommand(COMMANDS.openPanel, {
    label: trans.__('Show MCC tools'),
    caption: trans.__('Show the tools of the notebook in front'),
    icon: toolIcon,
    describedBy: noArguments,
    execute: () => {
      app.shell.activateById(wires.panelId);
      wires.expandRight();
    }
  });
  app.commands.addCommand(COMMANDS.load, {
    label: trans.__('Insert %load_ext mcc_jupyter'),
    caption: trans.__('Insert the cell that loads mcc_jupyter into this kernel'),
    describedBy: noArguments,
    isEnabled: hasNotebook,
    execute: () => host.insertCell('%load_ext mcc_jupyter')
  });
  app.commands.addCommand(COMMANDS.refresh, {
    label: trans.__('Read the tools again'),
    describedBy: noArguments,
    isEnabled: hasNotebook,
    execute: () => host.model.refresh()
  });
  app.commands.addCommand(COMMANDS.insertTool, {
    label: trans.__('Insert a tool'),
    caption: trans.__('Insert a cell that declares a tool'),
    describedBy: {
      args: {
        type: 'object',
        properties: { source: { type: 'string', description: trans.__('The text of the cell; a small example without it') } },
        additionalProperties: false
      }
    },
    isEnabled: hasNotebook,
    execute: args => host.insertCell(typeof args['source'] === 'string' ? args['source'] : TEMPLATE)
  });
}

/** Writes *source* into a new code cell below the active one. */
export function insertCell(tracker: INotebookTracker, source: string): void {
  const notebook = tracker.currentWidget?.content;
  if (notebook === undefined) {
    return;
  }
  NotebookActions.insertBelow(notebook);
  notebook.activeCell?.model.sharedModel.setSource(source);
  void NotebookActions.focusActiveCell(notebook);
}
