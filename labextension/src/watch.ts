/** What happens in Lab → questions of the model. The only place that listens to notebooks and kernels for the panel. */

import { INotebookTracker, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { Kernel, KernelMessage } from '@jupyterlab/services';

import { PanelModel } from './model';

/** The message of a kernel whose tools, session or guard changed (SPEC 13.2). */
const CHANGED = 'mcc_event';

export function watch(tracker: INotebookTracker, model: PanelModel): void {
  let panel: NotebookPanel | null = null;
  let kernel: Kernel.IKernelConnection | null = null;

  const onMessage = (_: Kernel.IKernelConnection, message: KernelMessage.IIOPubMessage): void => {
    if ((message.header.msg_type as string) === CHANGED) {
      void model.refresh();
    }
  };
  const onStatus = (_: Kernel.IKernelConnection, status: Kernel.Status): void => {
    if (status === 'restarting' || status === 'autorestarting' || status === 'dead' || status === 'terminating') {
      void model.restarted();
    }
  };
  const follow = (): void => {
    const next = panel?.sessionContext.session?.kernel ?? null;
    if (next !== kernel) {
      kernel?.iopubMessage.disconnect(onMessage);
      kernel?.statusChanged.disconnect(onStatus);
      kernel = next;
      kernel?.iopubMessage.connect(onMessage);
      kernel?.statusChanged.connect(onStatus);
    }
    void model.show(panel !== null, kernel?.id ?? null);
  };
  const front = (): void => {
    panel?.sessionContext.kernelChanged.disconnect(follow);
    panel = tracker.currentWidget;
    panel?.sessionContext.kernelChanged.connect(follow);
    follow();
  };
  tracker.currentChanged.connect(front);
  // A kernel that unloads mcc_jupyter, or one that is new after a restart, says nothing: a cell that ran may have done it.
  NotebookActions.executed.connect((_, { notebook }) => {
    if (notebook === panel?.content) {
      void model.refresh();
    }
  });
  front();
}
