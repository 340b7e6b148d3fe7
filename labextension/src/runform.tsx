/** The form that runs a tool: Lab's own form, live output, cancel, the outcome, "insert as cell" (SPEC 13.4). */

import { TranslationBundle } from '@jupyterlab/translation';
import { FormComponent } from '@jupyterlab/ui-components';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import React, { useEffect, useMemo, useRef, useState } from 'react';

import { Form, argumentsOf, formOf, isJson, isLines } from './form';
import { Tool } from './manifest';
import { Host } from './panel';
import { Plain } from './plain';
import { Lines } from './reportview';
import { BEGUN, Running, broken, cellSource, heard } from './running';

/** The kernel checks what is given, by the very rules of the call: the form need not carry a second checker. */
const UNCHECKED = {
  isValid: () => true,
  rawValidation: () => ({ errors: [] }),
  toErrorList: () => [],
  validateFormData: () => ({ errors: [], errorSchema: {} })
};

export function RunForm(props: { host: Host; kernel: string; tool: Tool }): JSX.Element {
  const { host, kernel, tool } = props;
  const { trans } = host;
  const [filled, setFilled] = useState<Plain>({});
  const [running, setRunning] = useState<Running | null>(null);
  const cancel = useRef<AbortController | null>(null);
  const form = useMemo(() => formOf(tool.parameters), [JSON.stringify(tool.parameters)]);
  const templates = useMemo(() => ({ FieldTemplate: fieldOf(form, trans), ObjectFieldTemplate: Fields }), [form, trans]);
  useEffect(() => () => cancel.current?.abort(), []);

  const isBusy = running !== null && running.ending === null;
  const { given, lacking, wrong } = argumentsOf(form, filled);
  const canRun = !isBusy && lacking.length === 0 && wrong.length === 0;
  const run = async (): Promise<void> => {
    const controller = new AbortController();
    cancel.current = controller;
    let state = BEGUN;
    const draw = frames(() => setRunning(state));
    setRunning(state);
    try {
      await host.requests.call(
        kernel,
        tool.key,
        given,
        event => {
          state = heard(state, event);
          draw();
        },
        controller.signal
      );
      if (state.ending === null) {
        state = { ...state, ending: broken(trans.__('The connection ended before the tool did.')) };
      }
    } catch (error) {
      const message = controller.signal.aborted
        ? trans.__('was cancelled')
        : error instanceof Error
          ? error.message
          : String(error);
      state = { ...state, ending: broken(message) };
    }
    setRunning(state);
  };
  return (
    <form
      className="mcc-run"
      aria-label={trans.__('Run %1', tool.name)}
      onSubmit={event => {
        event.preventDefault();
        if (canRun) {
          void run();
        }
      }}
    >
      {form.kinds.size === 0 ? (
        <p className="mcc-empty">{trans.__('This tool takes no parameters.')}</p>
      ) : (
        <FormComponent
          // A form inside a form would take our Enter key.
          tagName="div"
          schema={form.schema as object}
          uiSchema={form.ui as object}
          templates={templates as never}
          validator={UNCHECKED as never}
          formData={filled as ReadonlyJSONObject}
          onChange={event => setFilled((event.formData ?? {}) as Plain)}
          liveValidate={false}
          noHtml5Validate
        />
      )}
      <div className="mcc-run-buttons">
        <button type="submit" className="jp-mod-styled jp-mod-accept" disabled={!canRun}>
          {trans.__('Run %1', tool.name)}
        </button>
        <button
          type="button"
          className="jp-mod-styled jp-mod-reject"
          disabled={!isBusy}
          onClick={() => cancel.current?.abort()}
        >
          {trans.__('Cancel')}
        </button>
        <button
          type="button"
          className="jp-mod-styled jp-mod-minimal"
          onClick={() => host.insertCell(cellSource(tool.name, given))}
        >
          {trans.__('Insert as cell')}
        </button>
      </div>
      {lacking.length > 0 && <p className="mcc-hint">{trans.__('To fill in: %1', lacking.join(', '))}</p>}
      {wrong.length > 0 && <p className="mcc-hint">{trans.__('No JSON yet: %1', wrong.join(', '))}</p>}
      {running !== null && <Output running={running} trans={trans} />}
    </form>
  );
}

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly required?: boolean;
  readonly rawDescription?: string;
  readonly schema: { readonly type?: unknown };
  readonly children?: React.ReactNode;
}

/** One parameter: its name as a real label, its description, its field. A switch brings both itself. */
function fieldOf(form: Form, trans: TranslationBundle): (props: FieldProps) => JSX.Element {
  return ({ id, label, required, rawDescription, schema, children }) => {
    if (schema.type === 'object') {
      return <>{children}</>;
    }
    const how = isJson(form, label) ? trans.__('As JSON.') : isLines(form, label) ? trans.__('One a line.') : '';
    const said = [rawDescription ?? '', how].filter(Boolean).join(' ');
    return (
      <div className="mcc-field">
        {schema.type !== 'boolean' && (
          <>
            <label htmlFor={id}>
              <span className="mcc-field-name">{label}</span>
              {required === true && <span className="mcc-field-more"> {trans.__('required')}</span>}
            </label>
            {said !== '' && (
              <span id={`${id}__description`} className="mcc-field-description">
                {said}
              </span>
            )}
          </>
        )}
        {children}
      </div>
    );
  };
}

function Fields(props: { properties: readonly { readonly name: string; readonly content: JSX.Element }[] }): JSX.Element {
  return (
    <>
      {props.properties.map(item => (
        <React.Fragment key={item.name}>{item.content}</React.Fragment>
      ))}
    </>
  );
}

function Output(props: { running: Running; trans: TranslationBundle }): JSX.Element {
  const { running, trans } = props;
  const { ending } = running;
  return (
    <div className="mcc-output">
      {(running.pieces.length > 0 || ending === null) && (
        <pre tabIndex={0} aria-label={trans.__('Output')}>
          {running.dropped > 0 && (
            <em>{trans.__('%1 characters before are not shown\n', running.dropped)}</em>
          )}
          {running.pieces.map((piece, place) => (
            <span key={place} className={`mcc-${piece.stream}`}>
              {piece.text}
            </span>
          ))}
        </pre>
      )}
      <p className={ending === null || ending.ok ? 'mcc-outcome' : 'mcc-outcome mcc-failed'} role="status">
        {ending === null
          ? trans.__('Running…')
          : ending.ok
            ? trans.__('Done in %1', duration(ending.seconds, trans))
            : ending.failure}
      </p>
      {ending?.result != null && <pre aria-label={trans.__('Result')}>{ending.result}</pre>}
      {ending?.traceback != null && <pre className="mcc-stderr">{ending.traceback}</pre>}
      {ending !== null && <Lines className="mcc-notes" lines={ending.notes} />}
    </div>
  );
}

function duration(seconds: number, trans: TranslationBundle): string {
  return seconds < 1 ? trans.__('%1 ms', Math.round(seconds * 1000)) : trans.__('%1 s', seconds.toFixed(1));
}

/** *draw*, at most once a frame of the screen, however often it is called. */
function frames(draw: () => void): () => void {
  let asked = false;
  return () => {
    if (!asked) {
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        draw();
      });
    }
  };
}
