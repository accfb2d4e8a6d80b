package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
)

// spared is by how much the score of a process is lowered that is suspended. The kernel counts what is paged out for the process's size, and
// so would end suspended containers first when memory runs out, although that frees hardly any. Processes of containers have scores from
// 0 on (proc.NotSpared), so that a lowered score can be told, and be raised again, without a record: also after kill −9 of the node.
const spared = 999

// spare makes the kernel end suspended processes last when memory runs out, or treat them like any others again. Scores that it can't change
// stay: the process has ended, or the node may not lower scores.
func spare(t tree, pids []int, still bool) error {
	var errs []error
	for _, pid := range pids {
		file := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
		if err := changeScore(t, file, still); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func changeScore(t tree, file string, still bool) error {
	text, err := t.read(file)
	if err != nil {
		return err
	}
	score, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case still && score >= 0:
		score = min(score-spared, -1)
	case !still && score < 0:
		score = max(score+spared, 0)
	default:
		return nil
	}
	return t.write(file, strconv.Itoa(score))
}
