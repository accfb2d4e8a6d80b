package refusal_test

import (
	"errors"
	"fmt"
	"testing"

	"heddle/rm/leader/refusal"
)

func TestIsLooksThroughWrappers(t *testing.T) {
	err := fmt.Errorf("node n1: %w", refusal.New(refusal.NoSuchContainer, "container %d has ended", 7))
	if err.Error() != "node n1: container 7 has ended" {
		t.Errorf("the text is %q", err)
	}
	if !refusal.Is(err, refusal.NoSuchContainer) {
		t.Error("its reason isn't found behind the node's name")
	}
	if refusal.Is(err, refusal.NoSuchAttempt) {
		t.Error("it is taken for one with another reason")
	}
	if refusal.Is(errors.New("connection refused"), refusal.NoSuchApplication) || refusal.Is(nil, refusal.NoSuchApplication) {
		t.Error("what isn't a refusal has the first of the reasons")
	}
}
