package container

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/imagetest"
	"heddle/nm/image"
)

// dockerd starts Debian's Docker daemon, which it downloads the first time and doesn't install, with an image, and returns its socket and what ends it.
func dockerd(t *testing.T, i imagetest.Image, name string) (socket string, stop func()) {
	t.Helper()
	root, err := hadooplab.Cached(t.Context(), "docker", "files", func(ctx context.Context, base, partial string) error {
		const packages = "docker.io containerd runc libdevmapper1.02.1"
		download := exec.CommandContext(ctx, "sh", "-ec", "apt-get download -q "+packages+" || { apt-get update -q; apt-get download -q "+packages+`; }; for p in *.deb; do dpkg-deb -x $p "$1"; done`, "sh", partial)
		download.Dir = base
		if out, err := download.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", download, err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	socket = filepath.Join(dir, "d.sock")
	bin := filepath.Join(root, "usr/bin") + ":" + filepath.Join(root, "usr/sbin")
	cmd := exec.Command(filepath.Join(root, "usr/sbin/dockerd"), "--data-root", dir+"/data", "--exec-root", dir+"/exec", "--pidfile", dir+"/pid", "-H", "unix://"+socket,
		"--storage-driver", "vfs", "--bridge", "none", "--iptables=false")
	lib := "usr/lib/x86_64-linux-gnu"
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "LD_LIBRARY_PATH="+filepath.Join(root, lib)+":"+filepath.Join(root, strings.TrimPrefix(lib, "usr/")))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it ends its containerd
		_ = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	t.Cleanup(stop)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	await.Slowly(t, "the daemon answers", func() bool {
		resp, err := client.Get("http://docker/_ping")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	archive := filepath.Join(dir, "image.tar")
	i.Saved(t, archive, name)
	in, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	resp, err := client.Post("http://docker/images/load", "application/x-tar", in)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	return socket, stop
}

// A container runs in an image that a real Docker daemon has; the daemon runs nothing. Without the daemon a container is refused, with its name.
func TestImagesOfADockerDaemon(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	socket, stop := dockerd(t, imagetest.Image{Layers: []imagetest.Layer{imagetest.Programs(t, "cat", "cp", "ls", "chmod", "find"), imagetest.Tar(t, imagetest.File("from", "the daemon"))}}, "team/x:1")
	l := newImageLab(t, func(cfg *image.Config) { cfg.Docker = socket })
	try := func(n int64, name string) (Status, string) {
		s := waitDone(t, l.run(job{id: containerID(20, n), user: "ann", env: asksFor(name), command: "cat /from > <LOG_DIR>/stdout; exit 7"}))
		if s.ExitCode != 7 {
			return s, s.Diagnostics
		}
		return s, logOf(t, s, "stdout")
	}
	if _, got := try(1, "team/x:1"); got != "the daemon" {
		t.Error(got)
	}
	if _, got := try(2, "team/none:1"); !strings.Contains(got, "no such image") {
		t.Error(got)
	}
	if left, err := os.ReadDir(l.dir + "/layers/fetched"); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	stop()
	if _, got := try(3, "team/x:1"); !strings.Contains(got, "docker daemon at") {
		t.Errorf("without the daemon: %s", got)
	}
}
