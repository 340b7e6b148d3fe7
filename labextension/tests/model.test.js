import assert from 'node:assert/strict';
import test from 'node:test';
import { PanelModel, Refused } from '../lib/model.js';

const state = name => ({ workspace: null, policy: null, guard: false, session: [], tools: [{ name }] });
const answer = (name, revision = '1') => ({ state: state(name), revision });

/** A server whose answers are given by hand. */
function server() {
  const asked = [];
  const ask = (kernel, revision) =>
    new Promise((resolve, reject) => asked.push({ kernel, revision, resolve, reject }));
  return { asked, ask };
}
const turn = () => new Promise(resolve => setImmediate(resolve));
const shown = model => (model.view.kind === 'ready' ? model.view.state.tools[0].name : model.view.kind);

test('a notebook in front is asked for', async () => {
  const { asked, ask } = server();
  const model = new PanelModel(ask);
  assert.equal(shown(model), 'no-notebook');
  const done = model.show(true, 'k1');
  assert.equal(shown(model), 'loading');
  asked[0].resolve(answer('a'));
  await done;
  assert.equal(shown(model), 'a');
  assert.deepEqual([asked[0].kernel, asked[0].revision], ['k1', null]);
});

test('the answer for a notebook that is no longer in front is thrown away', async () => {
  const { asked, ask } = server();
  const model = new PanelModel(ask);
  void model.show(true, 'k1');
  const done = model.show(true, 'k2');
  asked[0].resolve(answer('old'));
  await turn();
  assert.equal(shown(model), 'loading');
  assert.equal(asked[1].kernel, 'k2');
  asked[1].resolve(answer('new'));
  await done;
  assert.equal(shown(model), 'new');
});

test('many changes at once are two questions', async () => {
  const { asked, ask } = server();
  const model = new PanelModel(ask);
  const done = model.show(true, 'k1');
  for (let round = 0; round < 50; round += 1) {
    void model.refresh();
  }
  asked[0].resolve(answer('a', '1'));
  await turn();
  asked[1].resolve(answer('b', '2'));
  await done;
  assert.equal(asked.length, 2);
  assert.equal(asked[1].revision, '1');
  assert.equal(shown(model), 'b');
});

test('what has not changed is not drawn again', async () => {
  const { asked, ask } = server();
  const model = new PanelModel(ask);
  const first = model.show(true, 'k1');
  asked[0].resolve(answer('a'));
  await first;
  let changes = 0;
  model.onChange(() => (changes += 1));
  const second = model.refresh();
  asked[1].resolve(null);
  await second;
  assert.deepEqual([changes, shown(model)], [0, 'a']);
});

test('a restart forgets what was declared', async () => {
  const { asked, ask } = server();
  const model = new PanelModel(ask);
  const first = model.show(true, 'k1');
  asked[0].resolve(answer('a'));
  await first;
  const second = model.restarted();
  assert.equal(shown(model), 'loading');
  asked[1].reject(new Refused('not-loaded', ''));
  await second;
  assert.equal(asked[1].revision, null);
  assert.equal(shown(model), 'not-loaded');
});

test('each way of having no answer is shown as itself', async () => {
  for (const [error, kind] of [
    [new Refused('no-server', ''), 'no-server'],
    [new Refused('not-loaded', ''), 'not-loaded'],
    [new Refused('other', 'no'), 'error'],
    [new TypeError('no network'), 'error']
  ]) {
    const { asked, ask } = server();
    const model = new PanelModel(ask);
    const done = model.show(true, 'k1');
    asked[0].reject(error);
    await done;
    assert.equal(shown(model), kind);
  }
});

test('without a notebook or a kernel nothing is asked', async () => {
  const { asked, ask } = server();
  const model = new PanelModel(ask);
  await model.show(true, null);
  assert.equal(shown(model), 'no-kernel');
  await model.show(false, null);
  assert.equal(shown(model), 'no-notebook');
  await model.refresh();
  assert.equal(asked.length, 0);
});

test('a listener that was taken off hears nothing', async () => {
  const model = new PanelModel(server().ask);
  let heard = 0;
  const off = model.onChange(() => (heard += 1));
  await model.show(true, null);
  off();
  await model.show(false, null);
  assert.equal(heard, 1);
});
