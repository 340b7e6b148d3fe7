// The names of modules and chunks, not a hash of where they lie: a rebuild in another folder gives the same bytes.
module.exports = { optimization: { moduleIds: 'named', chunkIds: 'named' } };
