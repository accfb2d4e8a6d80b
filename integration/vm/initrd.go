package vm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// buildGuest builds the program that is a machine's first process.
func buildGuest(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "init")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "heddle/integration/vm/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return path, nil
}

// writeInitrd writes an archive with the guest's program as /init and the modules in /modules (cpio, "newc").
func writeInitrd(path, guest, kernel string) error {
	modules, err := filepath.Glob(filepath.Join(kernel, "*.ko"))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	inode := 0
	add := func(name string, mode uint32, content []byte) {
		inode++
		fmt.Fprintf(&b, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
		b.WriteString(name)
		b.WriteByte(0)
		pad(&b)
		b.Write(content)
		pad(&b)
	}
	const dir, file = 0o040755, 0o100755
	for _, d := range []string{"proc", "sys", "dev", "host", "up", "new", "modules"} {
		add(d, dir, nil)
	}
	for _, m := range append([]string{guest}, modules...) {
		content, err := os.ReadFile(m)
		if err != nil {
			return err
		}
		name := "init"
		if m != guest {
			name = "modules/" + filepath.Base(m)
		}
		add(name, file, content)
	}
	add("TRAILER!!!", 0, nil)
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// pad fills up to a multiple of four bytes.
func pad(b *bytes.Buffer) {
	for b.Len()%4 != 0 {
		b.WriteByte(0)
	}
}
