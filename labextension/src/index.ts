/** Wires: each plugin takes what Lab offers and hands it to the part that does the work. */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { rendererFactory } from './renderer';

const DOMAIN = 'mcc-jupyter';

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

export default [renderer];
