package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// NotSpared lets the kernel end a process for want of memory like any other. A daemon that it is to spare
// (systemd's OOMScoreAdjust=) would hand that on to what it starts, and as root the right to claim it again. A process
// that is to go early keeps that.
func NotSpared(pid int) error {
	if err := notSpared(filepath.Join(Root, strconv.Itoa(pid), "oom_score_adj")); err != nil {
		return fmt.Errorf("process %d would be spared when the machine is out of memory: %w", pid, err)
	}
	return nil
}

func notSpared(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a kernel that spares nobody, or the process has ended
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
