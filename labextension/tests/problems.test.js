import assert from 'node:assert/strict';
import test from 'node:test';
import { problems } from '../lib/problems.js';

const error = (evalue, ename = 'DeclarationError') => ({ output_type: 'error', ename, evalue, traceback: [] });

test('each line has its problems', () => {
  assert.deepEqual(
    problems([error('exec: unknown (line 4)\nname: missing\nparams: a (line 2)\nparams: b (line 2, column 3); do this')]),
    [
      { line: 2, message: 'params: a\nparams: b; do this' },
      { line: 4, message: 'exec: unknown' }
    ]
  );
});

test('other outputs have none', () => {
  assert.deepEqual(problems([{ output_type: 'stream', text: 'x (line 1)' }, error('x (line 1)', 'ValueError'), 3]), []);
  assert.deepEqual(problems(undefined), []);
});
