package history

import (
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"heddle/yarn/records"
)

// The model itself must refuse a node that holds one container too many, and nothing else.
func TestCapacityModel(t *testing.T) {
	const capacity = 4
	model := capacityModel(func(records.NodeID) int { return capacity })
	node := records.NodeID{Host: "n"}
	op := func(delta int, from, to int64) porcupine.Operation {
		return porcupine.Operation{ClientId: int(from), Input: step{node, delta}, Call: from, Return: to}
	}
	var full []porcupine.Operation
	for i := range int64(capacity) {
		full = append(full, op(+1, 2*i, 2*i+1))
	}
	over := append(slices.Clone(full), op(+1, 100, 101))
	if !porcupine.CheckOperations(model, full) || porcupine.CheckOperations(model, over) {
		t.Error("the model doesn't know the capacity")
	}
	late := append(slices.Clone(over), op(-1, 102, 103))
	if porcupine.CheckOperations(model, late) {
		t.Error("a return that came too late excuses a grant")
	}
	overlapping := append(slices.Clone(over), op(-1, 90, 100))
	if !porcupine.CheckOperations(model, overlapping) {
		t.Error("a return that may have come in time doesn't count")
	}
}

// Each acknowledged submission must be found from then on, as must what somebody has found once. Only a submission without an answer may be
// found or not.
func TestAcknowledgedSubmissionsMustBeThere(t *testing.T) {
	submit := func(n int, unknown bool) call {
		return call{client: 1, submit: true, app: records.ApplicationID{ID: int32(n)}, begin: 1, end: 2, unknown: unknown}
	}
	look := func(n int, at time.Duration, found bool) call {
		return call{client: 2, app: records.ApplicationID{ID: int32(n)}, begin: at, end: at + 1, found: found}
	}
	many := func(lost int) (calls []call) { // one of 1,000 may be lost
		for n := range 1000 {
			calls = append(calls, submit(n, false), look(n, 10, n != lost))
		}
		return calls
	}
	for name, c := range map[string]struct {
		calls []call
		fails bool
	}{
		"all are there":                    {many(-1), false},
		"one of 1,000 isn't":               {many(500), true},
		"not there before it was answered": {[]call{submit(1, false), {client: 2, app: records.ApplicationID{ID: 1}, begin: 1, end: 2}}, false},
		"never answered, not there":        {[]call{submit(0, false), submit(1, true), look(1, 10, false)}, false},
		"never answered, there":            {[]call{submit(0, false), submit(1, true), look(1, 10, true)}, false},
		"never answered, seen, and gone":   {[]call{submit(0, false), submit(1, true), look(1, 10, true), look(1, 20, false)}, true},
		"there, though nobody submitted":   {[]call{submit(0, false), look(1, 10, true)}, true},
		"nothing was acknowledged":         {[]call{submit(1, true), look(1, 10, true)}, true},
	} {
		w := &World{calls: c.calls, begin: time.Now().Add(-time.Minute)}
		if _, err := w.checkApps(); (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}
