package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"heddle/internal/bounded"
)

// NotSpared lets the kernel end a process like any other when memory runs out. Without it, processes inherit the
// protection of a daemon that the kernel spares (systemd's OOMScoreAdjust=), and root's processes could claim it again.
// A process that the kernel ends earlier than others stays so.
func NotSpared(pid int) error {
	if err := notSpared(filepath.Join(Root, strconv.Itoa(pid), "oom_score_adj")); err != nil {
		return fmt.Errorf("process %d would be spared when the machine is out of memory: %w", pid, err)
	}
	return nil
}

func notSpared(file string) error {
	text, err := bounded.ReadFile(file, bounded.KernelFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the kernel has no such setting, or the process has ended
	}
	if err != nil {
		return err
	}
	score, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if score >= 0 {
		return nil
	}
	return os.WriteFile(file, []byte("0"), 0o600)
}
