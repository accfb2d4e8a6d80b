package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"heddle/internal/bounded"
)

const (
	bash    = "/bin/bash"
	maxBash = 64 << 20 // bytes; it has about one million
)

// closedShell returns a copy of bash that all users may run and none may read. Linux protects a process that runs such a
// program (PR_GET_DUMPABLE in prctl(2) is 0): other processes of its user can neither trace it nor take its descriptors
// (pidfd_getfd(2)). The copy is in memory; nil if the machine doesn't allow that (vm.memfd_noexec).
var closedShell = sync.OnceValue(func() *os.File {
	f, err := copyShell()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	try := exec.CommandContext(ctx, pathOf(0), "-c", "exit 7")
	try.ExtraFiles = []*os.File{f}
	if _ = try.Run(); try.ProcessState == nil || try.ProcessState.ExitCode() != 7 {
		f.Close()
		return nil
	}
	return f
})

// pathOf returns the path of the nth of a command's extra files, within the command's process.
func pathOf(n int) string { return fmt.Sprintf("/proc/self/fd/%d", 3+n) }

func copyShell() (*os.File, error) {
	text, err := bounded.ReadFile(bash, maxBash)
	if err != nil {
		return nil, err
	}
	const name = "heddle-keeper"
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if err == unix.EINVAL { //nolint:errorlint // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.Write(text); err == nil {
		err = unix.Fchmod(fd, 0o111)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
