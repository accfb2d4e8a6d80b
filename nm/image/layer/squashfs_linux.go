package layer

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"heddle/internal/bounded"
)

// converter makes a tar archive of a squashfs file. It is of Debian's and Fedora's squashfs-tools-ng.
const converter = "sqfs2tar"

// Bounds of the converter, whose input may be hostile: address space in kB, seconds of a processor, and the bytes of its errors that are kept.
const (
	converterMemory = 1 << 20
	converterTime   = 3600
	converterErrors = 1 << 10
)

// unprivileged is the uid and gid that the converter runs as.
const unprivileged = 65534

// UnpackSquashfs unpacks a squashfs file into the empty folder dir. A process without rights reads it, so that neither the kernel nor this process trusts
// what it says. overlayfs's own signs of removed files count.
func UnpackSquashfs(ctx context.Context, file *os.File, dir string, most Limits) (size Size, err error) {
	program, err := exec.LookPath(converter)
	if err != nil {
		return size, fmt.Errorf("the layer is a squashfs file, and this node has no %s: install squashfs-tools-ng: %w",
			converter, err)
	}
	if err := file.Chmod(0o644); err != nil { // its folder is closed; the converter opens it by its descriptor
		return size, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	script := "ulimit -c 0; ulimit -v " + strconv.Itoa(converterMemory) + "; ulimit -t " + strconv.Itoa(converterTime) + "; ulimit -f 0; exec \"$0\" /proc/self/fd/3"
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", script, program)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = []string{"LC_ALL=C"}, "/", []*os.File{file}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged},
		Pdeathsig:  syscall.SIGKILL,
	}
	said := bounded.NewTail(converterErrors)
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return size, err
	}
	if err := cmd.Start(); err != nil {
		return size, err
	}
	if size, err = unpackAll(out, dir, most, true); err != nil {
		cancel()
	}
	if failed := cmd.Wait(); failed != nil && ctx.Err() == nil {
		err = errors.Join(err, fmt.Errorf("%s: %w: %s", converter, failed, said.Bytes()))
	}
	return size, err
}

// sign makes overlayfs's own sign of a removed file, as a squashfs file has it. Other devices are left out.
func (u *unpacking) sign(name string, h *tar.Header) error {
	if !u.signs || h.Devmajor != 0 || h.Devminor != 0 || name == "." {
		return nil
	}
	if err := u.clear(name); err != nil {
		return err
	}
	at, err := u.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer at.Close()
	return unix.Mknodat(int(at.Fd()), path.Base(name), unix.S_IFCHR, 0)
}

// hides reports whether a folder hides what lower layers have in it.
func (u *unpacking) hides(h *tar.Header) bool {
	return u.signs && h.PAXRecords["SCHILY.xattr."+opaqueAttr] == "y"
}
