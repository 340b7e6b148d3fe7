import assert from 'node:assert/strict';
import test from 'node:test';
import { counts, readPolicy, readSession, readTool, visibleTools } from '../lib/manifest.js';
import { scrolledTo, windowed } from '../lib/windowed.js';

const tool = (name, more = {}) => readTool({ name, kind: 'exec', available: true, ...more });

test('a tool that is not as expected becomes an empty one', () => {
  assert.deepEqual(readTool({ name: 3, groups: 'x', available: 'yes', notice: {}, parameters: [] }), {
    name: '', key: '', kind: '', description: '', groups: [], available: false, notice: null, origin: '', parameters: {}
  });
});

test('unavailable tools come first, then by name', () => {
  const tools = [tool('b'), tool('c', { available: false }), tool('a')];
  assert.deepEqual(visibleTools(tools, '').map(item => item.name), ['c', 'a', 'b']);
});

test('every word has to be found, also in a notice', () => {
  const tools = [tool('pg', { available: false, notice: 'missing PGPASSWORD' }), tool('web', { kind: 'curl' })];
  assert.deepEqual(visibleTools(tools, 'pgpassword exec').map(item => item.name), ['pg']);
  assert.deepEqual(visibleTools(tools, 'curl').map(item => item.name), ['web']);
  assert.deepEqual(visibleTools(tools, 'curl pg').map(item => item.name), []);
});

test('tools are counted', () => {
  assert.deepEqual(counts([tool('a'), tool('b', { available: false })]), { available: 1, unavailable: 1 });
});

test('session keys and the policy are read', () => {
  assert.deepEqual(readSession([{ key: 'region', type: 'str', size: 9 }, 3]), [{ key: 'region', type: 'str', size: 9 }]);
  assert.equal(readPolicy(null), null);
  const none = { label: 'mcc.toml', workspace: null, profiles: [], allow: [], deny: [], exposed: [], failed: false, dropped: [], notes: [] };
  assert.deepEqual(readPolicy({ label: 'mcc.toml', notes: ['x'] }), { ...none, notes: ['x'] });
  const full = { ...none, workspace: 'ops', profiles: ['dev'], allow: ['AWS_*'], deny: ['A'], exposed: ['B'], failed: true, dropped: ['t'] };
  assert.deepEqual(readPolicy({ ...full, state: 'failed', more: 1 }), full);
});

test('a window holds what is seen and a margin', () => {
  assert.deepEqual(windowed(1000, 40, 0, 400), { first: 0, end: 18 });
  assert.deepEqual(windowed(1000, 40, 20000, 400), { first: 492, end: 518 });
  assert.deepEqual(windowed(3, 40, 0, 400), { first: 0, end: 3 });
  assert.deepEqual(windowed(0, 40, 0, 400), { first: 0, end: 0 });
  assert.deepEqual(windowed(3, 40, 9999, 400), { first: 3, end: 3 });
});

test('a row is brought into sight by the shortest way', () => {
  assert.equal(scrolledTo(0, 40, 100, 400), 0);
  assert.equal(scrolledTo(5, 40, 100, 400), 100);
  assert.equal(scrolledTo(20, 40, 100, 400), 440);
});
