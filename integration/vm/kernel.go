package vm

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"heddle/integration/hadooplab"
	"heddle/internal/needs"
)

// ErrUnfit says that this machine can't run virtual machines, whatever gets installed.
var ErrUnfit = errors.New("this machine can't run virtual machines")

// programs are the programs that a virtual machine needs.
var programs = []string{"qemu-system-x86_64", "mkfs.ext4", "dmsetup", "dpkg-deb"}

// wanted are the kernel modules that a virtual machine loads, in addition to those that they depend on.
var wanted = []string{
	"virtio_pci", "virtio_blk", "virtio_console", "virtio_net", "virtio-rng", "9p", "9pnet_virtio", "overlay", "crc32c_generic", "ext4",
	"dm-mod", "dm-flakey", "dm-delay", "veth", "sch_netem",
}

// Prepare checks that this machine can run virtual machines, and downloads the kernel the first time.
func Prepare(ctx context.Context) (kernel string, err error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" || os.Geteuid() != 0 {
		return "", fmt.Errorf("%w: that needs root on Linux and amd64", ErrUnfit)
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			return "", fmt.Errorf("virtual machines need %s: %w; `apt-get install %s` installs it", p, err, needs.Package(p))
		}
	}
	return hadooplab.Cached(ctx, "vm-debian", "kernel", fetchKernel)
}

// fetchKernel extracts the kernel and the wanted modules from the package of the distribution's newest kernel.
func fetchKernel(ctx context.Context, base, to string) error {
	out, err := exec.CommandContext(ctx, "apt-cache", "depends", "linux-image-amd64").Output()
	if err != nil {
		return fmt.Errorf("virtual machines need a kernel of Debian's: apt-cache: %w", err)
	}
	name := regexp.MustCompile(`Depends: (linux-image-\S+)`).FindSubmatch(out)
	if name == nil {
		return errors.New("virtual machines need a kernel of Debian's, and apt knows no package linux-image-amd64; `apt-get update` may bring it")
	}
	get := exec.CommandContext(ctx, "apt-get", "download", "-qq", string(name[1]))
	get.Dir = base
	if out, err := get.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", get, err, out)
	}
	packages, err := filepath.Glob(filepath.Join(base, "linux-image-*.deb"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("the kernel's package isn't in %s: %v, %v", base, packages, err)
	}
	unpacked := filepath.Join(base, "unpacked")
	defer os.RemoveAll(unpacked)
	defer os.Remove(packages[0])
	if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", packages[0], unpacked).CombinedOutput(); err != nil {
		return fmt.Errorf("dpkg-deb -x %s: %w\n%s", packages[0], err, out)
	}
	images, err := filepath.Glob(filepath.Join(unpacked, "boot", "vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return fmt.Errorf("%s has no kernel: %v, %v", packages[0], images, err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := os.Rename(images[0], filepath.Join(to, "vmlinuz")); err != nil {
		return err
	}
	return packModules(ctx, unpacked, to)
}

// packModules writes the wanted modules, numbered in an order that allows loading them.
func packModules(ctx context.Context, unpacked, to string) error {
	paths := map[string]string{}
	err := filepath.WalkDir(unpacked, func(path string, d fs.DirEntry, err error) error {
		if name, _, ok := strings.Cut(d.Name(), ".ko"); ok && err == nil && d.Type().IsRegular() {
			paths[strings.ReplaceAll(name, "-", "_")] = path
		}
		return err
	})
	if err != nil {
		return err
	}
	var order []string
	images := map[string][]byte{}
	var add func(name string) error
	add = func(name string) error {
		name = strings.ReplaceAll(name, "-", "_")
		path := paths[name]
		if path == "" || slices.Contains(order, name) {
			return nil // built in, or written already
		}
		image, err := moduleImage(ctx, path)
		if err != nil {
			return err
		}
		needs, err := depends(image)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, n := range needs {
			if err := add(n); err != nil {
				return err
			}
		}
		images[name], order = image, append(order, name)
		return nil
	}
	for _, name := range wanted {
		if err := add(name); err != nil {
			return err
		}
	}
	for i, name := range order {
		if err := os.WriteFile(filepath.Join(to, fmt.Sprintf("%03d-%s.ko", i, name)), images[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moduleImage reads a module, compressed or not.
func moduleImage(ctx context.Context, path string) ([]byte, error) {
	switch filepath.Ext(path) {
	case ".xz", ".zst":
		out, err := exec.CommandContext(ctx, strings.TrimPrefix(filepath.Ext(path), ".")+"cat", path).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return out, nil
	case ".gz":
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	}
	return os.ReadFile(path)
}

// depends returns the modules that a module needs, including soft dependencies that must be loaded first.
func depends(image []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	s := f.Section(".modinfo")
	if s == nil {
		return nil, errors.New("no module information")
	}
	info, err := s.Data()
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.SplitSeq(string(info), "\x00") {
		if list, ok := strings.CutPrefix(line, "depends="); ok && list != "" {
			out = append(out, strings.Split(list, ",")...)
		}
		if list, ok := strings.CutPrefix(line, "softdep=pre: "); ok {
			out = append(out, strings.Fields(list)...)
		}
	}
	return out, nil
}
