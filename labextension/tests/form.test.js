import assert from 'node:assert/strict';
import test from 'node:test';
import { argumentsOf, formOf, isJson, isLines } from '../lib/form.js';

const of = (properties, required = []) => formOf({ type: 'object', properties, required, additionalProperties: false });
const drawn = property => of({ x: property }).schema.properties.x;

test('plain parameters are fields of their kind', () => {
  for (const schema of [
    { type: 'string', default: 'a', description: 'b' },
    { type: 'integer', default: 10 },
    { type: 'number' },
    { type: 'boolean', default: false },
    { enum: ['a', 1], default: 'a' }
  ]) {
    assert.deepEqual(drawn(schema), schema);
  }
  assert.deepEqual(formOf({}).schema, { type: 'object', properties: {}, required: [] });
});

test('null is what is left out', () => {
  assert.deepEqual(drawn({ type: ['string', 'null'], default: null }), { type: 'string' });
  assert.deepEqual(drawn({ enum: ['a', null] }), { enum: ['a'] });
  assert.deepEqual(drawn({ anyOf: [{ type: 'integer' }, { type: 'null' }], description: 'd' }), { type: 'integer', description: 'd' });
});

test('texts are written one a line, the rest as JSON', () => {
  const form = of({
    names: { type: 'array', items: { type: 'string' }, default: ['a', 'b'] },
    odd: { type: 'array', items: { type: 'string' }, default: ['a\nb'] },
    any: { type: 'array', default: [1] },
    map: { type: 'object', description: 'd' },
    two: { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }] }
  });
  assert.deepEqual(form.schema.properties.names, { type: 'string', description: '', default: 'a\nb' });
  assert.deepEqual(form.schema.properties.any, { type: 'string', description: '', default: '[1]' });
  assert.deepEqual(form.schema.properties.map, { type: 'string', description: 'd' });
  assert.equal(form.ui.map['ui:widget'], 'textarea');
  assert.deepEqual([...form.kinds.values()], ['lines', 'json', 'json', 'json', 'json']);
  assert.deepEqual([isLines(form, 'names'), isJson(form, 'names'), isJson(form, 'map')], [true, false, true]);
  const filled = { names: 'a\n\nb c', any: '[1, "x"]', map: '{"k": null}', two: '' };
  assert.deepEqual(argumentsOf(form, filled), {
    given: { names: ['a', 'b c'], any: [1, 'x'], map: { k: null } },
    lacking: [],
    wrong: []
  });
});

test('what has to be filled in, and what is no JSON, is named', () => {
  const form = of({ a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'object' } }, ['a', 'b', 'c']);
  assert.deepEqual(argumentsOf(form, { a: 0, b: '', c: '{' }), { given: { a: 0, b: '' }, lacking: ['b'], wrong: ['c'] });
  assert.deepEqual(argumentsOf(form, {}).lacking, ['a', 'b', 'c']);
});
