package history

import (
	"slices"
	"testing"

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
