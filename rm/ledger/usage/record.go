package usage

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"heddle/rm/ledger/ledgerpb"
)

// Freeze returns a copy that may be read while the history continues; nil if there is nothing to record.
func (h *History) Freeze() *History {
	if h == nil || h.last == 0 {
		return nil
	}
	return h.Clone()
}

// Clone returns a copy. It shares the bytes of chunks, so that only one of the two may go on.
func (h *History) Clone() *History { return h.View(func(string) bool { return true }) }

// Records are what a snapshot has of the history. Equal histories give equal records.
func (h *History) Records() iter.Seq[*ledgerpb.History] {
	return func(yield func(*ledgerpb.History) bool) {
		if h == nil {
			return
		}
		state := &ledgerpb.HistoryState{
			Last: h.last, Samples: h.samples, Refused: h.refused, Oldest: h.fine.oldest, OldestCoarse: h.coarse.oldest, Fine: spansOf(h.fine.spans), Coarse: spansOf(h.coarse.spans),
		}
		for _, name := range slices.Sorted(maps.Keys(h.now)) {
			s := h.now[name]
			state.Now = append(state.Now, &ledgerpb.HistorySums{Name: name, Figures: written(s.Figures[:]), Sum: written(s.sum[:]), At: s.at})
		}
		if !yield(&ledgerpb.History{State: state}) {
			return
		}
		for _, t := range []*tier{&h.fine, &h.coarse} {
			for _, name := range slices.Sorted(maps.Keys(t.all)) {
				s := t.all[name]
				r := &ledgerpb.History{Name: name, Coarse: t == &h.coarse, Base: written(s.base[:])}
				for i := range s.chunks {
					r.Chunks = append(r.Chunks, &ledgerpb.HistoryChunk{First: s.chunks[i].first, Data: s.chunks[i].data})
				}
				if !yield(r) {
					return
				}
			}
		}
	}
}

func spansOf(list []span) (out []*ledgerpb.HistorySpan) {
	for _, s := range list {
		out = append(out, &ledgerpb.HistorySpan{From: s.from, To: s.to})
	}
	return out
}

// Restore takes over a record.
func (h *History) Restore(r *ledgerpb.History) error {
	if st := r.GetState(); st != nil {
		h.last, h.samples, h.refused, h.fine.oldest, h.coarse.oldest = st.GetLast(), st.GetSamples(), st.GetRefused(), st.GetOldest(), st.GetOldestCoarse()
		for _, x := range st.GetNow() {
			c := &current{at: x.GetAt()}
			read(c.Figures[:], x.GetFigures())
			read(c.sum[:], x.GetSum())
			h.now[x.GetName()] = c
		}
		var err error
		if h.fine.spans, err = readSpans(st.GetFine()); err == nil {
			h.coarse.spans, err = readSpans(st.GetCoarse())
		}
		return err
	}
	t := &h.fine
	if r.GetCoarse() {
		t = &h.coarse
	}
	s := &series{}
	read(s.base[:], r.GetBase())
	s.end = s.base
	for _, c := range r.GetChunks() {
		chunk, end, err := readChunk(c.GetFirst(), c.GetData())
		if n := len(s.chunks); err == nil && n > 0 && s.chunks[n-1].last >= chunk.first {
			err = fmt.Errorf("step %d after %d: %w", chunk.first, s.chunks[n-1].last, errTorn)
		}
		if err != nil {
			return fmt.Errorf("history of %.100q: %w", r.GetName(), err)
		}
		s.chunks, s.end = append(s.chunks, chunk), end
	}
	t.all[r.GetName()] = s
	return nil
}

func readSpans(list []*ledgerpb.HistorySpan) (out []span, err error) {
	for _, s := range list {
		if n := len(out); s.GetTo() < s.GetFrom() || s.GetTo()-s.GetFrom() > FineKeep+perCoarse || n > 0 && s.GetFrom() <= out[n-1].to {
			return nil, fmt.Errorf("history: steps %d to %d: %w", s.GetFrom(), s.GetTo(), errTorn)
		}
		out = append(out, span{s.GetFrom(), s.GetTo()})
	}
	return out, nil
}

// written and read are numbers as records have them: the ledger's lists of signed ones are amounts of resource types.
func written(list []int64) []uint64 {
	out := make([]uint64, len(list))
	for i, n := range list {
		out[i] = uint64(n)
	}
	return out
}

func read(to []int64, list []uint64) {
	for i := range min(len(to), len(list)) {
		to[i] = int64(list[i])
	}
}
