package campaign

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"heddle/integration/history"
)

// tally counts what happened in an episode.
type tally struct {
	checked history.Checked
	jobs    int
	ended   []string
}

// perform plays an episode in processes or in a machine.
func perform(ctx context.Context, o options, ep episode, dir string, log func(string, ...any)) (t tally, err error) {
	r := random(o.seed, ep.number)
	if ep.machine {
		m, err := newMachine(o.binary, dir, r, log)
		if err != nil {
			return t, err
		}
		t.checked, err = m.play(ctx, ep)
		t.jobs = m.work.done
		return t, errors.Join(err, m.close(err != nil))
	}
	s, err := newTheatre(ctx, o.binary, dir, ep.witness, r, log)
	if s == nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.close(err != nil)) }()
	if err != nil {
		return t, err
	}
	t.checked, err = s.play(ctx, ep)
	t.jobs = s.work.done
	for _, e := range s.Ended() {
		t.ended = append(t.ended, e.String())
		log("%v", e)
	}
	return t, err
}

// sortedByCount returns the names, those with the largest counts first.
func sortedByCount(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
}
