package cgroup

import (
	"io/fs"
	"testing"
)

// scores are files of the kernel with the scores of processes.
type scores struct {
	tree
	of map[string]string
}

func (s scores) read(path string) (string, error) {
	if text, ok := s.of[path]; ok {
		return text, nil
	}
	return "", fs.ErrNotExist
}

func (s scores) write(path, value string) error {
	if value == "-699" {
		return fs.ErrPermission
	}
	s.of[path] = value + "\n"
	return nil
}

// A score that is lowered twice is lowered once, and raised to what it was. Processes that have ended, and scores that may not be changed,
// are no errors.
func TestProcessesThatStandStillAreSpared(t *testing.T) {
	for was, lowered := range map[string]string{"0\n": "-999\n", "5\n": "-994\n", "998\n": "-1\n", "300\n": "300\n"} {
		s := scores{of: map[string]string{"/proc/7/oom_score_adj": was}}
		for _, still := range []bool{true, true, false, false} {
			if err := spare(s, []int{7, 8}, still); err != nil {
				t.Fatal(err)
			}
			want := was
			if still {
				want = lowered
			}
			if got := s.of["/proc/7/oom_score_adj"]; got != want {
				t.Errorf("of %q, still %v: %q instead of %q", was, still, got, want)
			}
		}
	}
	if err := spare(scores{of: map[string]string{"/proc/7/oom_score_adj": "x"}}, []int{7}, true); err == nil {
		t.Error("a score that is no number was taken")
	}
}
