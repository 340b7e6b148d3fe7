/** Wires: each plugin takes what Lab offers and hands it to the part that does the work. */

import { ILabShell, ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { EditorExtensionRegistry, IEditorExtensionRegistry, IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';

import { addCommands, COMMANDS, insertCell } from './commands';
import { Highlighter } from './highlight';
import { toolIcon } from './icons';
import { LeakMarks } from './leakmarks';
import { markProblems, problemMarks } from './marks';
import { PanelModel } from './model';
import { Host, Panel } from './panel';
import { rendererFactory } from './renderer';
import { Requests } from './request';
import { StatusItem } from './status';
import { watch } from './watch';

const DOMAIN = 'mcc-jupyter';
const PANEL_ID = 'mcc-jupyter-panel';

const renderer: JupyterFrontEndPlugin<void> = {
  id: 'mcc-jupyter:renderer',
  description: 'Draws the reports of tools in cell outputs.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [ITranslator],
  activate: (_app: JupyterFrontEnd, registry: IRenderMimeRegistry, translator: ITranslator | null) => {
    registry.addFactory(rendererFactory((translator ?? nullTranslator).load(DOMAIN)));
  }
};

const panel: JupyterFrontEndPlugin<void> = {
  id: 'mcc-jupyter:panel',
  description: 'The tools of the notebook in front: what each would get, and a form to run it.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator, ICommandPalette, ILayoutRestorer, IStatusBar, ILabShell],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    statusBar: IStatusBar | null,
    labShell: ILabShell | null
  ) => {
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    const requests = new Requests(app.serviceManager.serverSettings);
    const model = new PanelModel((kernel, revision) => requests.state(kernel, revision));
    const changed = new Signal<PanelModel, void>(model);
    model.onChange(() => changed.emit());
    const host: Host = { model, requests, trans, insertCell: source => insertCell(tracker, source) };

    const widget = new Panel(host);
    widget.id = PANEL_ID;
    widget.title.icon = toolIcon;
    widget.title.caption = trans.__('MCC tools');
    widget.node.setAttribute('role', 'region');
    widget.node.setAttribute('aria-label', trans.__('MCC tools'));
    app.shell.add(widget, 'right', { rank: 600, type: 'MCC tools' });
    restorer?.add(widget, PANEL_ID);

    addCommands(app, { host, tracker, trans, panelId: PANEL_ID, expandRight: () => labShell?.expandRight() });
    for (const command of Object.values(COMMANDS)) {
      palette?.addItem({ command, category: trans.__('MCC tools') });
    }
    statusBar?.registerStatusItem('mcc-jupyter:status', {
      item: new StatusItem(model, trans, () => void app.commands.execute(COMMANDS.openPanel)),
      align: 'left',
      rank: 90,
      isActive: () => model.view.kind === 'ready',
      activeStateChanged: changed
    });
    watch(tracker, model);
  }
};

const highlight: JupyterFrontEndPlugin<void> = {
  id: 'mcc-jupyter:highlight',
  description: 'Colours the bodies of %%mcc_tool and %%mcc_sh cells as YAML or shell.',
  autoStart: true,
  requires: [INotebookTracker, IEditorLanguageRegistry],
  optional: [ISettingRegistry],
  activate: (
    _app: JupyterFrontEnd,
    tracker: INotebookTracker,
    languages: IEditorLanguageRegistry,
    registry: ISettingRegistry | null
  ) => {
    const highlighter = new Highlighter(tracker, languages);
    whileEnabled(registry, highlight.id, on => {
      highlighter.isOn = on;
    });
  }
};

const marks: JupyterFrontEndPlugin<void> = {
  id: 'mcc-jupyter:marks',
  description: 'Marks the lines of a declaration that its last run had something against.',
  autoStart: true,
  requires: [IEditorExtensionRegistry],
  optional: [ISettingRegistry],
  activate: (_app: JupyterFrontEnd, editors: IEditorExtensionRegistry, registry: ISettingRegistry | null) => {
    let isOn = false;
    editors.addExtension({
      name: 'mcc-jupyter:marks',
      factory: () => EditorExtensionRegistry.createImmutableExtension(problemMarks)
    });
    markProblems(() => isOn);
    whileEnabled(registry, marks.id, on => {
      isOn = on;
    });
  }
};

const leaks: JupyterFrontEndPlugin<void> = {
  id: 'mcc-jupyter:leaks',
  description: 'Shows at a cell that its last save held a secret, and redacts its outputs.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    translator: ITranslator | null,
    registry: ISettingRegistry | null
  ) => {
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    const found = new LeakMarks(tracker, new Requests(app.serviceManager.serverSettings), trans);
    app.serviceManager.events.stream.connect((_, emission) => found.hear(emission));
    whileEnabled(registry, leaks.id, on => {
      found.isOn = on;
    });
  }
};

/** Tells *set* the setting `enabled` of the plugin *id*, now and whenever it changes; on where there are no settings. */
function whileEnabled(registry: ISettingRegistry | null, id: string, set: (on: boolean) => void): void {
  if (registry === null) {
    set(true);
    return;
  }
  void registry.load(id).then(settings => {
    const read = (): void => set(settings.get('enabled').composite !== false);
    settings.changed.connect(read);
    read();
  });
}

export default [renderer, panel, highlight, marks, leaks];
