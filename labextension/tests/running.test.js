import assert from 'node:assert/strict';
import test from 'node:test';
import { BEGUN, SHOWN, broken, cellSource, heard, readEvent } from '../lib/running.js';

const output = (text, stream = 'stdout') => ({ event: 'output', stream, text });

test('what is no event is none', () => {
  for (const line of ['', '{', '[]', '1', '{"event":"else"}', 'null']) {
    assert.equal(readEvent(line), null);
  }
  assert.deepEqual(readEvent('{"event":"output","stream":"stderr","text":"x","seq":1}'), output('x', 'stderr'));
});

test('output of one stream is joined, of two it alternates', () => {
  const running = [output('a'), output('b'), output('c', 'stderr'), output('d')].reduce(heard, BEGUN);
  assert.deepEqual(running.pieces.map(piece => [piece.stream, piece.text]),
    [['stdout', 'ab'], ['stderr', 'c'], ['stdout', 'd']]);
});

test('of a flood the last is kept, and what is gone is counted', () => {
  let running = BEGUN;
  const text = 'x'.repeat(1000);
  for (let round = 0; round < 1000; round += 1) {
    running = heard(running, output(text));
  }
  const kept = running.pieces.reduce((sum, piece) => sum + piece.text.length, 0);
  assert.ok(kept <= SHOWN);
  assert.equal(kept + running.dropped, 1_000_000);
});

test('an outcome is read', () => {
  const ok = heard(BEGUN, { event: 'done', outcome: { status: 'ok', returned: true, result: { a: 1 }, duration_s: 2 } });
  assert.deepEqual(ok.ending, { ok: true, failure: '', result: '{\n  "a": 1\n}', traceback: null, notes: [], seconds: 2 });
  const failed = heard(BEGUN, { event: 'done', outcome: { status: 'failed', failure: 'failed with exit code 3' } });
  assert.equal(failed.ending.failure, 'failed with exit code 3');
  assert.equal(failed.ending.result, null);
  assert.deepEqual(heard(BEGUN, { event: 'error', code: 'x', message: 'gone' }).ending, broken('gone'));
});

test('a call as a cell', () => {
  assert.equal(cellSource('forecast', { city: 'Oslo', days: 3 }), '%mcc_call forecast city=Oslo days=3');
  assert.equal(cellSource('t', {}), '%mcc_call t');
  assert.equal(cellSource('t', { a: "it's" }), `%mcc_call t --json {"a":"it's"}`);
  assert.equal(cellSource('t', { a: '3' }), '%mcc_call t --json {"a":"3"}');
  assert.equal(cellSource('t', { a: 'true' }), '%mcc_call t --json {"a":"true"}');
  assert.equal(cellSource('t', { a: [1] }), '%mcc_call t --json {"a":[1]}');
});
